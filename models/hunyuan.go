package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Hunyuan's dense models: Tencent, 2025, "Hunyuan-7B": Llama that normalizes queries and keys after
// their positions.

func init() {
	Register(newHunyuan, "hunyuan_v1_dense")
	registerGGUF("hunyuan-dense", llamacpp.Architecture{ModelType: "hunyuan_v1_dense", Read: readHunyuanGGUF, Parts: map[string]string{
		"self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm",
	}})
}

type hunyuanConfig struct {
	llamaFields
	Bias bool `json:"attention_bias"`
}

func newHunyuan(c *Checkpoint) (*Model, error) {
	config := hunyuanConfig{llamaFields: llamaDefaults}
	config.Vocab, config.Eps, config.Alpha = 290943, 1e-5, true
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.Bias, layer.Self.OutBias = config.Bias, config.Bias
	layer.Self.QKNorm, layer.Self.NormLast = &transformer.NormConfig{Eps: config.Eps, RMS: true}, true
	names := llamaLayer
	names.Attention.QueryNorm, names.Attention.KeyNorm = "query_layernorm.", "key_layernorm."
	return c.llama(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return l.Layer(layer, names), 0
	})
}

// readHunyuanGGUF reads by how much the base of rotary positions is stretched, which the converter
// has done already in published files.
func readHunyuanGGUF(r *llamacpp.Reader) {
	readBiasGGUF(r)
	if alpha := r.NumberOf("rope.scaling.alpha", 0); alpha > 0 {
		r.Fields["rope_theta"] = configuration.Stretched(r.NumberOf("rope.freq_base", 10000), alpha, int(min(r.HeadWidth(), 1<<16)))
	}
}
