package classic

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// BERTConfig describes a BERT, with the names of Hugging Face's configuration in parentheses.
type BERTConfig struct {
	Vocab        int // (vocab_size)
	Types        int // (type_vocab_size)
	MaxPositions int // (max_position_embeddings)
	Dim          int // (hidden_size)
	Heads        int // (num_attention_heads)
	Layers       int // (num_hidden_layers)
	FeedForward  int // (intermediate_size)
	Activation   kernels.Activation
	Eps          float32 // (layer_norm_eps)
	// Relative replaces the table of absolute positions (position_embedding_type).
	Relative transformer.RelativeKind
	// MemoryDim, if not 0, gives each layer cross-attention to rows of this width (encoder_width),
	// as in BLIP's text decoder.
	MemoryDim int
	Chunk     int // rows of the feed-forward network at a time; 0: all
	Pooler    bool
}

// LayerConfig returns the configuration of a layer.
func (c BERTConfig) LayerConfig() transformer.LayerConfig {
	attention := transformer.AttentionConfig{
		Dim: c.Dim, Heads: c.Heads, Bias: true, OutBias: true,
		Relative: c.Relative, MaxPositions: c.MaxPositions,
	}
	layer := transformer.LayerConfig{
		Self:        attention,
		FeedForward: transformer.FeedForwardConfig{Hidden: c.FeedForward, Activation: c.Activation, Bias: true, Chunk: c.Chunk},
		Norm:        transformer.NormConfig{Shape: []int{c.Dim}, Eps: c.Eps},
	}
	if c.MemoryDim != 0 {
		attention.KeyWidth, attention.Relative = c.MemoryDim, transformer.NoRelative
		layer.Cross = &attention
	}
	return layer
}

// BERT is a bidirectional encoder (Devlin et al., 2019), or with a causal mask and cross-attention
// the text decoder of BLIP (Li et al., 2022).
type BERT struct {
	BERTConfig
	Words, Types, Positions *transformer.Embedding // Positions is nil with relative ones
	EmbeddingNorm           *transformer.Norm
	Encoder                 *transformer.Stack
	Pooler                  *transformer.Linear // or nil
}

// NewBERT takes the weights under prefix by the names of Hugging Face's BertModel.
func NewBERT(c BERTConfig, w transformer.Weights, prefix string) (*BERT, error) {
	if err := check.Positive("BERT", check.Size("vocabulary", c.Vocab), check.Size("types", c.Types), check.Size("max positions", c.MaxPositions), check.Size("dim", c.Dim)); err != nil {
		return nil, err
	}
	layer := c.LayerConfig()
	l := transformer.NewLoader(w).At(prefix)
	b := &BERT{
		BERTConfig:    c,
		Words:         l.At("embeddings.word_embeddings.").Embedding(c.Vocab, c.Dim),
		Types:         l.At("embeddings.token_type_embeddings.").Embedding(c.Types, c.Dim),
		EmbeddingNorm: l.At("embeddings.LayerNorm.").Norm(layer.Norm),
		Encoder:       l.Stack(transformer.StackConfig{Layers: c.Layers, Layer: layer}, BERTEncoder()),
	}
	if c.Relative == transformer.NoRelative {
		b.Positions = l.At("embeddings.position_embeddings.").Embedding(c.MaxPositions, c.Dim)
	}
	if c.Pooler {
		b.Pooler = l.At("pooler.dense.").Linear(c.Dim, c.Dim, true)
	}
	return finish(b, l)
}

// BERTInput is the input of a BERT. The field X of LayerInput is not used.
type BERTInput struct {
	transformer.LayerInput
	Tokens []int // of the rows of Batch
	Types  []int // nil: all 0
}

// Forward sets dst, [rows, Dim], to the last layer's output. cache may be nil; see
// transformer.Stack.
//
// Trace reports "embeddings", what enters the layers.
func (b *BERT) Forward(ws *transformer.Workspace, dst []float32, in BERTInput, cache *transformer.Cache) error {
	rows := in.Batch.Rows()
	if len(in.Tokens) != rows || in.Types != nil && len(in.Types) != rows {
		return check.Errorf(fault.ErrShape, "%d tokens and %d types in a batch of %d rows", len(in.Tokens), len(in.Types), rows)
	}
	if cache != nil && cache.Sequences() != in.Batch.Len() {
		return check.Errorf(fault.ErrShape, "batch of %d sequences with a cache of %d", in.Batch.Len(), cache.Sequences())
	}
	types := in.Types
	if types == nil {
		types = make([]int, rows)
	}
	defer ws.Release(ws.Mark())
	x := ws.Alloc(rows * b.Dim)                               // [rows, D]
	if err := b.Words.Forward(ws, x, in.Tokens); err != nil { // [rows, D]
		return err
	}
	if err := b.Types.Add(ws, x, types); err != nil { // [rows, D]
		return err
	}
	if b.Positions != nil {
		at := make([]int, 0, rows)
		for i := range in.Batch.Len() {
			past, end := cache.Len(i), cache.Len(i)+in.Batch.Length(i)
			if end > b.MaxPositions {
				return check.Errorf(fault.ErrTooLong, "position %d, the table has %d", end-1, b.MaxPositions)
			}
			for p := past; p < end; p++ {
				at = append(at, p)
			}
		}
		if err := b.Positions.Add(ws, x, at); err != nil { // [rows, D]
			return err
		}
	}
	if err := b.EmbeddingNorm.Forward(ws, x, x); err != nil { // [rows, D]
		return err
	}
	ws.ReportRows("embeddings", "", x, in.Batch, b.Dim)
	in.X = x
	return b.Encoder.Forward(ws, dst, in.LayerInput, cache) // [rows, D]
}

// Pool sets dst, [sequences, Dim], to the pooled output for x, the result of Forward: tanh of a
// projection of each sequence's first row.
func (b *BERT) Pool(ws *transformer.Workspace, dst, x []float32, batch transformer.Batch) error {
	if b.Pooler == nil {
		return check.Errorf(fault.ErrConfig, "BERT without pooler")
	}
	defer ws.Release(ws.Mark())
	first, err := firstRows(ws, x, batch, b.Dim) // [sequences, D]
	if err != nil {
		return err
	}
	if err := b.Pooler.Forward(ws, dst, first); err != nil { // [sequences, D]
		return err
	}
	ws.Threads.Tanh(dst, dst)
	return nil
}

// firstRows gathers the first row of each sequence.
func firstRows(ws *transformer.Workspace, x []float32, batch transformer.Batch, dim int) ([]float32, error) {
	if err := check.Len("x", x, batch.Rows()*dim, "rows*dim"); err != nil {
		return nil, err
	}
	first := ws.Alloc(batch.Len() * dim) // [sequences, D]
	for i := range batch.Len() {
		if batch.Length(i) == 0 {
			return nil, check.Errorf(fault.ErrShape, "sequence %d is empty", i)
		}
		copy(first[i*dim:(i+1)*dim], x[batch.Start(i)*dim:])
	}
	return first, nil
}
