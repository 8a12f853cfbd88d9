package block

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Predictor is a layer after the last that predicts the token after the next one: DeepSeek-AI,
// 2024, "DeepSeek-V3 Technical Report", section 2.2, multi-token prediction. Of the hidden state h
// of a token and the next token t it computes
//
//	Norm(Layer(Project([TokenNorm(embedding of t), HiddenNorm(h)])))
//
// which Head leads to logits, and which is the hidden state for the prediction after that.
type Predictor struct {
	Tokens                      *transformer.Embedding
	TokenNorm, HiddenNorm, Norm *transformer.Norm
	Project                     *transformer.Linear // from 2D to D
	Layer                       DecoderLayer
	Head                        *transformer.Linear // of the decoder
	cacheFormat                 kernels.Format
}

// NewPages returns a pool of pages for histories of the layer.
func (p *Predictor) NewPages(limit int64) *transformer.Pages {
	pages, err := transformer.NewPages(transformer.PagesConfig{Format: p.cacheFormat, Limit: max(limit, 0)})
	if err != nil {
		panic(err) // Options.check knows the formats
	}
	return pages
}

// Predict sets dst, [rows, D], to the hidden states of the tokens after those given, for x, [rows,
// D], the hidden states of the tokens before them. dst may be x. The rows follow those in cache,
// which may be nil.
func (p *Predictor) Predict(ws *transformer.Workspace, dst, x []float32, tokens []int, batch transformer.Batch, cache *transformer.Cache) error {
	dim, rows := p.Tokens.Dim, batch.Rows()
	if len(tokens) != rows {
		return check.Errorf(fault.ErrShape, "%d tokens in a batch of %d rows", len(tokens), rows)
	}
	if err := check.Len("x", x, rows*dim, "rows*dim"); err != nil {
		return err
	}
	if err := check.Len("dst", dst, rows*dim, "rows*dim"); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	parts := ws.Alloc(2 * rows * dim) // embeddings and hidden states  [2, rows, D]
	embeddings, hidden := parts[:rows*dim], parts[rows*dim:]
	if err := p.Tokens.Forward(ws, embeddings, tokens); err != nil {
		return err
	}
	if err := p.TokenNorm.Forward(ws, embeddings, embeddings); err != nil {
		return err
	}
	if err := p.HiddenNorm.Forward(ws, hidden, x); err != nil {
		return err
	}
	both := ws.Alloc(2 * rows * dim) // [rows, 2D]
	for i := range rows {
		copy(both[2*i*dim:], embeddings[i*dim:(i+1)*dim])
		copy(both[(2*i+1)*dim:], hidden[i*dim:(i+1)*dim])
	}
	if err := cache.Begin(batch, 1); err != nil { // dst is as it was
		return err
	}
	if err := p.Project.Forward(ws, dst, both); err != nil {
		return err
	}
	if err := p.Layer.Forward(ws, dst, transformer.LayerInput{X: dst, Batch: batch, Mask: causal}, cache.Layer(0)); err != nil {
		return err
	}
	cache.End(batch)
	return p.Norm.Forward(ws, dst, dst) // [rows, D]
}

// Logits sets dst, [rows, V], to the logits of rows x of what Predict gives.
func (p *Predictor) Logits(ws *transformer.Workspace, dst, x []float32) error {
	return p.Head.Forward(ws, dst, x)
}
