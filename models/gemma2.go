package models

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Gemma 2 and 3: Gemma Team, 2024, "Gemma 2: Improving Open Language Models at a Practical Size",
// and 2025, "Gemma 3 Technical Report". Normalizations in front of and after attention and
// feed-forward network, windows in some layers; version 2 caps scores and logits, version 3
// normalizes queries and keys, and has a base of its own for the rotary positions of layers with
// windows.

func init() {
	Register(newGemma2, "gemma2")
	Register(newGemma3, "gemma3_text")
	registerGGUF("gemma2", llamacpp.Architecture{Parts: llamacpp.PostNorms, Read: readGemmaGGUF})
	registerGGUF("gemma3", llamacpp.Architecture{ModelType: "gemma3_text", Parts: llamacpp.PostNorms, Unscaled: true, Read: readGemmaGGUF})
	registerGGUF("gemma-embedding", llamacpp.Architecture{ModelType: "gemma3_text", Parts: llamacpp.PostNorms, Unscaled: true, BothWays: true, Read: readGemmaGGUF})
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

// capped refuses caps of 0, which would leave nothing; null means no cap.
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
	if !c.doc.IsNull("attn_logit_softcapping") {
		config.ScoreCap = 50
	}
	if !c.doc.IsNull("final_logit_softcapping") {
		config.LogitCap = 30
	}
	config.Kinds = true
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if err := config.capped(c.doc); err != nil {
		return nil, err
	}
	windows, err := c.doc.Windows(config.WindowFields, config.Layers, func(i int) bool { return i%2 == 0 })
	if err != nil {
		return nil, err
	}
	if config.Window == 0 {
		return nil, c.doc.Errorf("sliding_window", "want the size of a window")
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
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if err := config.capped(c.doc); err != nil {
		return nil, err
	}
	windows, err := c.doc.Windows(config.WindowFields, config.Layers, func(i int) bool { return (i+1)%config.Pattern != 0 })
	if err != nil {
		return nil, err
	}
	global, err := config.layer(c, configuration.FullAttention)
	if err != nil {
		return nil, err
	}
	sliding, err := config.sliding(c, global, config.LocalTheta)
	if err != nil {
		return nil, err
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
			return nil, c.doc.Errorf("use_bidirectional_attention", "not supported for a language model")
		}
		seeBothWays(d, config.Window/2)
	} else {
		d.Whole = slices.Repeat([]bool{true}, len(d.Windows))
	}
	return c.decoderModel(d, config.Tied)
}

// layer returns the configuration of a layer of a kind.
func (f *gemma2Config) layer(c *Checkpoint, kind string) (transformer.LayerConfig, error) {
	layer, err := f.gemmaFields.layer(c, kind)
	layer.Self.Scale, layer.Self.SoftCap = float32(1/math.Sqrt(f.QueryScale)), f.ScoreCap
	return layer, err
}

// gemma2LayerNames are the names of a layer.
var gemma2LayerNames = func() block.LayerNames {
	names := block.LayerNames{LayerNames: qwenLayer, PostNorm: "post_attention_layernorm.", FeedPostNorm: "post_feedforward_layernorm."}
	names.FeedNorm = "pre_feedforward_layernorm."
	return names
}()

// gemma2Layer loads a layer.
func (c *Checkpoint) gemma2Layer(l *transformer.Loader, config transformer.LayerConfig) *block.Layer {
	g := block.LoadLayer(l, config, gemma2LayerNames)
	if !l.Failed() {
		c.onePlus(g.Norm, g.PostNorm, g.FeedNorm, g.FeedPostNorm, g.Attention.QueryNorm, g.Attention.KeyNorm)
	}
	return g
}

// readGemmaGGUF reads what versions 2 and 3 have.
func readGemmaGGUF(r *llamacpp.Reader) {
	if r.Architecture == "gemma2" {
		r.Windows(2)
		r.ScaledWindows()
	} else {
		r.Windows(6)
	}
	for _, cap := range []string{"attn_logit_softcapping", "final_logit_softcapping"} {
		if r.Number(cap, cap, false); r.Fields[cap] == 0.0 { // none
			r.Fields[cap] = nil
			if r.Architecture == "gemma2" {
				r.Refuse(cap, 0, "want a number above 0")
			}
		}
	}
	if r.Architecture == "gemma-embedding" {
		r.Fields["use_bidirectional_attention"] = true
		if r.Pool == nil {
			r.Refuse("pooling_type", r.IntegerOf("pooling_type"), "want the pooling of an embedder")
		}
	}
	if r.Architecture != "gemma2" {
		r.Number("rope_local_base_freq", "rope.freq_base_swa", false)
	}
	// Not among the metadata: of the published sizes, the largest of each version (46 and 62
	// layers) alone scales queries by the width of a head's share of the rows.
	scale, _ := r.Fields["head_dim"].(int64)
	layers := r.Layers()
	if heads := r.IntegerOf("attention.head_count"); (layers == 46 || layers == 62) && heads > 0 {
		scale = r.IntegerOf("embedding_length") / heads
	}
	r.Fields["query_pre_attn_scalar"] = scale
}
