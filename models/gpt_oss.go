package models

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// gpt-oss: OpenAI, 2025, "gpt-oss-120b & gpt-oss-20b Model Card": a mixture of experts with a
// limited SwiGLU and biases, windows in every second layer, and a sink in every head, a score that
// no key has.

func init() {
	Register(newGPTOSS, "gpt_oss")
	registerGGUF("gpt-oss", llamacpp.Architecture{ModelType: "gpt_oss", Experts: true, Fractional: true, Read: readGPTOSSGGUF, Parts: llamacpp.Merged(
		llamacpp.Experts("mlp.router", "mlp.experts.gate_proj", "mlp.experts.up_proj", "mlp.experts.down_proj"),
		map[string]string{"post_attention_layernorm": "post_attention_norm", "self_attn.sinks": "attn_sinks.weight"},
	)})
}

type gptOSSConfig struct {
	llamaFields
	configuration.WindowFields
	Bias      bool    `json:"attention_bias"`
	Experts   int     `json:"num_local_experts"`
	TopK      int     `json:"num_experts_per_tok"`
	Sharpness float32 `json:"swiglu_alpha"`
	Limit     float32 `json:"swiglu_limit"`
}

// gptOSSRope has transformers' rotary positions for a config.json that has neither rope_parameters
// nor rope_scaling.
const gptOSSRope = `{"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": false, "original_max_position_embeddings": 4096}`

// gptOSSExperts are the names of the experts. Stacked matrices are [in, out], but in blocks; in
// GGUF files they are as those of other models.
var gptOSSExperts = transformer.MixtureNames{
	Router: "mlp.router.", All: "mlp.experts.", Interleaved: true, Transposed: true,
	Expert: transformer.FeedForwardNames{Packed: "gate_up_proj.", Gate: "gate_proj.", Up: "up_proj.", Down: "down_proj."},
}

func newGPTOSS(c *Checkpoint) (*Model, error) {
	config := gptOSSConfig{llamaFields: llamaDefaults, WindowFields: configuration.WindowFields{Window: 128}, Bias: true, Experts: 128, TopK: 4, Sharpness: 1.702, Limit: 7}
	config.Vocab, config.Dim, config.Layers, config.Heads, config.KVHeads, config.HeadDim, config.Hidden = 201088, 2880, 36, 64, 8, 64, 2880
	config.MaxPositions, config.Eps, config.RopeTheta, config.Kinds = 131072, 1e-5, 150000, true
	if !c.doc.Has("rope_parameters") && c.doc.Empty("rope_scaling") { // an empty object is one without scaling
		c.doc = c.doc.With("rope_parameters", gptOSSRope)
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if c.doc.IsNull("sliding_window") {
		config.Window = 0
	}
	windows, err := c.doc.Windows(config.WindowFields, config.Layers, func(i int) bool { return i%2 == 0 })
	if err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.Bias, layer.Self.OutBias, layer.Self.Sink = config.Bias, config.Bias, true
	names := llamaLayer
	names.Attention.Sinks = "sinks"
	experts, err := c.gptOSSExperts()
	if err != nil {
		return nil, err
	}
	mixture := transformer.MixtureConfig{
		Dim: config.Dim, Hidden: config.Hidden, Experts: config.Experts, TopK: config.TopK, Normalize: true, RouterBias: true, Bias: true,
		Activation: kernels.ActSiLU, Sharpness: config.Sharpness, Limit: config.Limit, Offset: 1,
	}
	layer.Feed = func(l *transformer.Loader) transformer.Feed { return l.Mixture(mixture, experts) }
	return c.llama(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		return l.Layer(layer, names), windows(i)
	})
}

// gptOSSExperts returns the names of the experts by what config.json says of their format, and how
// they lie.
func (c *Checkpoint) gptOSSExperts() (transformer.MixtureNames, error) {
	names := gptOSSExperts
	if c.convention.Converted {
		return names, nil
	}
	blocks, err := c.quantized("mxfp4")
	names.Transposed = !blocks
	c.nameStackedExperts()
	return names, err
}

// quantized reports whether quantization_config says that weights have the format of a method;
// another is an error.
func (c *Checkpoint) quantized(method string) (bool, error) {
	const field = "quantization_config"
	if c.doc.Empty(field) {
		return false, nil
	}
	d, err := c.doc.Sub(field)
	if err != nil {
		return false, err
	}
	of := struct {
		Method string   `json:"quant_method"`
		Not    []string `json:"modules_to_not_convert"` // the tensors of the checkpoint say which these are
	}{}
	if err := d.Decode(&of); err != nil {
		return false, err
	}
	if of.Method != method {
		return false, d.Errorf("quant_method", "want %s", method)
	}
	return true, nil
}

// readGPTOSSGGUF reads what gpt-oss has.
func readGPTOSSGGUF(r *llamacpp.Reader) {
	r.Experts("num_local_experts", llamacpp.SoftmaxOfPicked)
	r.Integer("intermediate_size", "expert_feed_forward_length", true)
	r.Windows(2)
	r.ScaledWindows()
	readBiasGGUF(r)
}
