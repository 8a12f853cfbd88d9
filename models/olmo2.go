package models

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// OLMo 2: OLMo Team, 2025, "2 OLMo 2 Furious": Llama that normalizes what leaves each part
// instead of what enters it, and the queries and keys of all heads together.

func init() {
	Register(newOLMo2, "olmo2")
	registerGGUF("olmo2", llamacpp.Architecture{Parts: llamacpp.PostNorms, Read: func(r *llamacpp.Reader) { r.Want("attention.sliding_window", 0) }})
}

type olmo2Config struct {
	llamaFields
	Bias bool `json:"attention_bias"`
}

func newOLMo2(c *Checkpoint) (*Model, error) {
	config := olmo2Config{llamaFields: llamaDefaults}
	config.Vocab, config.Eps = 50304, 1e-5
	if err := c.JSON.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.Bias, layer.Self.OutBias = config.Bias, config.Bias
	layer.Self.QKNorm = &transformer.NormConfig{Shape: []int{config.Heads * config.HeadDim}, Eps: config.Eps, RMS: true}
	layer.FeedForward.Dim, layer.Norm.Shape = config.Dim, []int{config.Dim}
	names := llamaLayer
	names.Attention.QueryNorm, names.Attention.KeyNorm = "q_norm.", "k_norm."
	return c.llama(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return &olmo2Layer{
			attention:     l.At(names.Self).Attention(layer.Self, names.Attention),
			attentionNorm: l.At("post_attention_layernorm.").Norm(layer.Norm),
			feed:          l.FeedForward(layer.FeedForward, names.Feed),
			feedNorm:      l.At("post_feedforward_layernorm.").Norm(layer.Norm),
		}, 0
	})
}

// olmo2Layer normalizes what leaves each part, before it is added.
type olmo2Layer struct {
	attention               *transformer.MultiHeadAttention
	attentionNorm, feedNorm *transformer.Norm
	feed                    *transformer.FeedForward
}

func (l *olmo2Layer) CacheBytes(f kernels.Format) int64 { return l.attention.CacheBytes(f) }

// Forward sets dst, [rows, D], to the layer's output for in.X.
func (l *olmo2Layer) Forward(ws *Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	defer ws.Release(ws.Mark())
	y := ws.Alloc(len(dst))                                                                                                            // [rows, D]
	if err := l.attention.Forward(ws, y, transformer.AttentionInput{Query: in.X, Batch: in.Batch, Mask: in.Mask}, cache); err != nil { // y = attention(in)  [rows, D]
		return err
	}
	if err := l.attentionNorm.Forward(ws, y, y); err != nil { // y = norm(y)  [rows, D]
		return err
	}
	ws.Threads.Add(dst, in.X, y)                            // dst = in + y  [rows, D]
	if err := l.feed.Forward(ws, y, dst, nil); err != nil { // y = down(silu(gate(dst)) * up(dst))  [rows, D]
		return err
	}
	if err := l.feedNorm.Forward(ws, y, y); err != nil { // y = norm(y)  [rows, D]
		return err
	}
	ws.Threads.Add(dst, dst, y) // dst += y          [rows, D]
	return nil
}
