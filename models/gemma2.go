package models

import (
	"math"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Gemma 2 and 3: Gemma Team, 2024, "Gemma 2: Improving Open Language Models at a
// Practical Size", and 2025, "Gemma 3 Technical Report". Normalizations in front of and
// after attention and feed-forward network, windows in some layers; version 2 caps
// scores and logits, version 3 normalizes queries and keys, and has a base of its own
// for the rotary positions of layers with windows.

func init() {
	Register(newGemma2, "gemma2")
	Register(newGemma3, "gemma3_text")
	registerGGUF("gemma2", llamacpp.Architecture{Parts: llamacpp.PostNorms, Read: readGemmaGGUF})
	registerGGUF("gemma3", llamacpp.Architecture{ModelType: "gemma3_text", Parts: llamacpp.PostNorms, Unscaled: true, Read: readGemmaGGUF})
}

type gemma2Config struct {
	gemmaFields
	configuration.WindowFields
	QueryScale float64 `json:"query_pre_attn_scalar"` // scores are divided by its root
	ScoreCap   float32 `json:"attn_logit_softcapping" min:"0"`
	LogitCap   float32 `json:"final_logit_softcapping" min:"0"`
}

type gemma3Config struct {
	gemma2Config
	LocalTheta float64 `json:"rope_local_base_freq" min:"1"`
	Pattern    int     `json:"sliding_window_pattern"` // the last layer of each group of this size sees all
	BothWays   bool    `json:"use_bidirectional_attention"`
}

func gemma2Defaults() gemma2Config {
	f := gemmaDefaults()
	f.Dim, f.Layers, f.Heads, f.KVHeads, f.Hidden = 2304, 26, 8, 4, 9216
	return gemma2Config{gemmaFields: f, WindowFields: configuration.WindowFields{Window: 4096}, QueryScale: 256}
}

// capped refuses caps of 0, which would leave nothing; null is none.
func (f *gemma2Config) capped(d configuration.Document) error {
	for _, name := range []string{"attn_logit_softcapping", "final_logit_softcapping"} {
		if d.Has(name) && d.Empty(name) {
			return d.Errorf(name, "want a number above 0, or null")
		}
	}
	return nil
}

func newGemma2(c *Checkpoint) (*Model, error) {
	config := gemma2Defaults()
	if !c.JSON.IsNull("attn_logit_softcapping") {
		config.ScoreCap = 50
	}
	if !c.JSON.IsNull("final_logit_softcapping") {
		config.LogitCap = 30
	}
	config.Kinds = true
	if err := c.JSON.Decode(&config); err != nil {
		return nil, err
	}
	if err := config.capped(c.JSON); err != nil {
		return nil, err
	}
	windows, err := c.JSON.Windows(config.WindowFields, config.Layers, func(i int) bool { return i%2 == 0 })
	if err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	d := c.gemma(config.gemmaFields, config.LogitCap, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		return c.gemma2Layer(l, layer), windows(i)
	})
	return c.decoderModel(d, config.Tied)
}

func newGemma3(c *Checkpoint) (*Model, error) {
	config := gemma3Config{gemma2Config: gemma2Defaults(), LocalTheta: 10000, Pattern: 6}
	config.Vocab, config.RopeTheta, config.MaxPositions = 262208, 1e6, 131072
	if err := c.JSON.Decode(&config); err != nil {
		return nil, err
	}
	if err := config.capped(c.JSON); err != nil {
		return nil, err
	}
	windows, err := c.JSON.Windows(config.WindowFields, config.Layers, func(i int) bool { return (i+1)%config.Pattern != 0 })
	if err != nil {
		return nil, err
	}
	global, err := config.layer(c, configuration.FullAttention)
	if err != nil {
		return nil, err
	}
	sliding := global
	if sliding.Self.Rotary, err = c.JSON.RotaryOfKind(configuration.SlidingAttention, config.LocalTheta, false, config.HeadDim, config.MaxPositions); err != nil {
		return nil, err
	}
	if sliding.Self.Rotary.FrequenciesAt != nil {
		return nil, c.JSON.Errorf("rope_parameters", "%s: not supported by this model_type", configuration.SlidingAttention)
	}
	global.Self.SoftCap, sliding.Self.SoftCap = 0, 0 // transformers does not read attn_logit_softcapping
	norm := &transformer.NormConfig{Eps: config.Eps, RMS: true}
	global.Self.QKNorm, sliding.Self.QKNorm = norm, norm
	d := c.gemma(config.gemmaFields, config.LogitCap, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		if w := windows(i); w > 0 {
			return c.gemma2Layer(l, sliding), w
		}
		return c.gemma2Layer(l, global), 0
	})
	if config.BothWays { // EmbeddingGemma's tokens see those after them too
		if c.Config.Head() == "ForCausalLM" {
			return nil, c.JSON.Errorf("use_bidirectional_attention", "not supported for a language model")
		}
		for i, w := range d.Windows {
			if d.Masks[i] = nil; w > 0 {
				d.Masks[i] = transformer.LocalWindow(w/2, w/2)
			}
		}
	}
	return c.decoderModel(d, config.Tied)
}

// layer is the configuration of a layer of a kind.
func (f *gemma2Config) layer(c *Checkpoint, kind string) (transformer.LayerConfig, error) {
	layer, err := f.gemmaFields.layer(c, kind)
	layer.Self.Scale, layer.Self.SoftCap = float32(1/math.Sqrt(f.QueryScale)), f.ScoreCap
	return layer, err
}

// gemma2Layer normalizes what enters each part and what leaves it.
type gemma2Layer struct {
	attentionNorm, attentionPostNorm *transformer.Norm
	feedNorm, feedPostNorm           *transformer.Norm
	attention                        *transformer.MultiHeadAttention
	feed                             *transformer.FeedForward
}

func (c *Checkpoint) gemma2Layer(l *transformer.Loader, config transformer.LayerConfig) *gemma2Layer {
	names, norm := llamaLayer, config.Norm
	names.Attention.QueryNorm, names.Attention.KeyNorm = "q_norm.", "k_norm."
	norm.Shape = []int{config.Self.Dim}
	config.FeedForward.Dim = config.Self.Dim
	g := &gemma2Layer{
		attentionNorm:     l.At("input_layernorm.").Norm(norm),
		attention:         l.At(names.Self).Attention(config.Self, names.Attention),
		attentionPostNorm: l.At("post_attention_layernorm.").Norm(norm),
		feedNorm:          l.At("pre_feedforward_layernorm.").Norm(norm),
		feed:              l.FeedForward(config.FeedForward, names.Feed),
		feedPostNorm:      l.At("post_feedforward_layernorm.").Norm(norm),
	}
	if !l.Failed() {
		c.onePlus(g.attentionNorm, g.attentionPostNorm, g.feedNorm, g.feedPostNorm, g.attention.QueryNorm, g.attention.KeyNorm)
	}
	return g
}

func (l *gemma2Layer) CacheBytes(f kernels.Format) int64 { return l.attention.CacheBytes(f) }

// Forward sets dst, [rows, D], to the layer's output for in.X.
func (l *gemma2Layer) Forward(ws *Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	defer ws.Release(ws.Mark())
	x, y := ws.Alloc(len(dst)), ws.Alloc(len(dst))               // [rows, D]
	if err := l.attentionNorm.Forward(ws, x, in.X); err != nil { // x = norm(in)  [rows, D]
		return err
	}
	if err := l.attention.Forward(ws, y, transformer.AttentionInput{Query: x, Batch: in.Batch, Mask: in.Mask}, cache); err != nil { // [rows, D]
		return err
	}
	if err := l.attentionPostNorm.Forward(ws, y, y); err != nil { // y = norm(attention(x)) [rows, D]
		return err
	}
	ws.Threads.Add(dst, in.X, y)                           // dst = in + y  [rows, D]
	if err := l.feedNorm.Forward(ws, x, dst); err != nil { // x = norm(dst)  [rows, D]
		return err
	}
	if err := l.feed.Forward(ws, y, x, nil); err != nil { // y = down(gelu(gate(x)) * up(x)) [rows, D]
		return err
	}
	if err := l.feedPostNorm.Forward(ws, y, y); err != nil { // y = norm(y)  [rows, D]
		return err
	}
	ws.Threads.Add(dst, dst, y) // dst += y            [rows, D]
	return nil
}

// readGemmaGGUF reads what versions 2 and 3 have.
func readGemmaGGUF(r *llamacpp.Reader) {
	r.Integer("sliding_window", "attention.sliding_window", true)
	for _, cap := range []string{"attn_logit_softcapping", "final_logit_softcapping"} {
		if r.Number(cap, cap, false); r.Fields[cap] == 0.0 { // none
			r.Fields[cap] = nil
		}
	}
	if r.Architecture == "gemma3" {
		r.Number("rope_local_base_freq", "rope.freq_base_swa", false)
		r.Integer("sliding_window_pattern", "attention.sliding_window_pattern", false)
	}
	// Not among the metadata: of the published sizes, the largest of each version (46
	// and 62 layers) alone scales queries by the width of a head's share of the rows.
	scale, _ := r.Fields["head_dim"].(int64)
	layers := r.IntegerOf("block_count")
	if heads := r.IntegerOf("attention.head_count"); (layers == 46 || layers == 62) && heads > 0 {
		scale = r.IntegerOf("embedding_length") / heads
	}
	r.Fields["query_pre_attn_scalar"] = scale
}
