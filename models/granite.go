package models

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Granite: Granite Team, IBM, 2024, "Granite 3.0 Language Models": Llama with factors for what
// enters it, for the scores, for what each part adds, and for the logits.

func init() {
	Register(newGranite, "granite")
	registerGGUF("granite", llamacpp.Architecture{Neighbours: true, Read: readGraniteGGUF})
}

type graniteConfig struct {
	llamaConfig
	Embedding float32 `json:"embedding_multiplier"`
	Scores    float32 `json:"attention_multiplier"`
	Residual  float32 `json:"residual_multiplier"`
	Logits    float32 `json:"logits_scaling"` // which logits are divided by
}

// graniteDefaults are those of transformers where config.json is silent.
func graniteDefaults() graniteConfig {
	return graniteConfig{llamaConfig: llamaConfig{llamaFields: llamaDefaults}, Embedding: 1, Scores: 1, Residual: 1, Logits: 1}
}

func newGranite(c *Checkpoint) (*Model, error) {
	config := graniteDefaults()
	if err := c.JSON.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.FeedForward.Bias, layer.FeedForward.Dim = config.MLPBias, config.Dim
	return c.granite(config, layer, func(l *transformer.Loader) transformer.Feed { return l.FeedForward(layer.FeedForward, llamaLayer.Feed) })
}

// granite is the model whose layers have the given feed-forward network.
func (c *Checkpoint) granite(config graniteConfig, layer transformer.LayerConfig, feed func(l *transformer.Loader) transformer.Feed) (*Model, error) {
	layer.Self.Bias, layer.Self.OutBias = config.Bias, config.Bias
	layer.Self.Scale = config.Scores
	layer.Norm.Shape = []int{config.Dim}
	d := c.llamaDecoder(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return &graniteLayer{
			residual:      config.Residual,
			attentionNorm: l.At(llamaLayer.SelfNorm).Norm(layer.Norm),
			attention:     l.At(llamaLayer.Self).Attention(layer.Self, llamaLayer.Attention),
			feedNorm:      l.At(llamaLayer.FeedNorm).Norm(layer.Norm),
			feed:          feed(l),
		}, 0
	})
	d.Tokens.Scale, d.Scale = config.Embedding, 1/config.Logits
	return c.decoderModel(d, config.Tied)
}

// graniteLayer multiplies what each part adds.
type graniteLayer struct {
	residual                float32
	attentionNorm, feedNorm *transformer.Norm
	attention               *transformer.MultiHeadAttention
	feed                    transformer.Feed
}

func (l *graniteLayer) CacheBytes(f kernels.Format) int64 { return l.attention.CacheBytes(f) }

// Forward sets dst, [rows, D], to the layer's output for in.X.
func (l *graniteLayer) Forward(ws *Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	defer ws.Release(ws.Mark())
	x, y := ws.Alloc(len(dst)), ws.Alloc(len(dst))               // [rows, D]
	if err := l.attentionNorm.Forward(ws, x, in.X); err != nil { // x = norm(in)  [rows, D]
		return err
	}
	if err := l.attention.Forward(ws, y, transformer.AttentionInput{Query: x, Batch: in.Batch, Mask: in.Mask}, cache); err != nil { // y = attention(x)  [rows, D]
		return err
	}
	ws.Threads.Scale(y, y, l.residual)
	ws.Threads.Add(dst, in.X, y)                           // dst = in + y*residual  [rows, D]
	if err := l.feedNorm.Forward(ws, x, dst); err != nil { // x = norm(dst)  [rows, D]
		return err
	}
	if err := l.feed.Forward(ws, y, x, nil); err != nil { // y = down(silu(gate(x)) * up(x))  [rows, D]
		return err
	}
	ws.Threads.Scale(y, y, l.residual)
	ws.Threads.Add(dst, dst, y) // dst += y*residual      [rows, D]
	return nil
}

// readGraniteGGUF reads Granite's factors.
func readGraniteGGUF(r *llamacpp.Reader) {
	r.Fields["attention_bias"] = r.Has("blk.0.attn_q.bias")
	r.Number("embedding_multiplier", "embedding_scale", false)
	r.Number("residual_multiplier", "residual_scale", false)
	r.Number("attention_multiplier", "attention.scale", true)
	r.Number("logits_scaling", "logit_scale", false)
}
