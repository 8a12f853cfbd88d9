package models

import (
	"fmt"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
)

// What llama.cpp writes of Mamba-2 and of hybrid models.

// mambaParts adds llama.cpp's names of the tensors of Mamba-2, whose model's names begin with a
// prefix, to those of other parts.
func mambaParts(prefix string, others map[string]string) map[string]string {
	parts := map[string]string{}
	for name, own := range map[string]string{
		"in_proj": "ssm_in", "conv1d": "ssm_conv1d", "dt_bias": "ssm_dt.bias", "A_log": "ssm_a", "D": "ssm_d", "norm": "ssm_norm", "out_proj": "ssm_out",
	} {
		parts[prefix+name] = own
	}
	maps.Copy(parts, others)
	return parts
}

// readMambaGGUF reads the sizes of Mamba-2 of a file whose given layer has it, into fields of the
// given names.
func readMambaGGUF(r *llamacpp.Reader, names mambaNames, layer int) {
	r.Integer(names.Taps, "ssm.conv_kernel", true)
	r.Integer(names.State, "ssm.state_size", true)
	r.Integer(names.Groups, "ssm.group_count", true)
	r.Integer(names.Heads, "ssm.time_step_rank", true)
	r.Fields[names.ConvBias] = r.Has(fmt.Sprintf("blk.%d.ssm_conv1d.bias", layer))
	r.Fields[names.InBias] = r.Has(fmt.Sprintf("blk.%d.ssm_in.bias", layer))
}

// readMambaInner reads the channels of all heads of Mamba-2 into a field, divided by the size that
// a key has.
func readMambaInner(r *llamacpp.Reader, field, key string) {
	inner, by := r.IntegerOf("ssm.inner_size"), r.IntegerOf(key)
	if r.Fields[field] = inner / max(by, 1); inner < 1 || by < 1 || inner%by != 0 {
		r.Refuse("ssm.inner_size", inner, "want a multiple of %s = %d", key, by)
	}
}

// readGraniteHybridGGUF reads what Granite 4 has: the layers without heads of keys and values have
// Mamba-2.
func readGraniteHybridGGUF(r *llamacpp.Reader) {
	readGraniteGGUF(r)
	attends, recurs := readHeadsByLayer(r, "linear_attention")
	if recurs >= 0 {
		readMambaGGUF(r, hybridNames, recurs)
		readMambaInner(r, "mamba_expand", "embedding_length")
	}
	r.Fields["attention_bias"] = r.Has(fmt.Sprintf("blk.%d.attn_q.bias", attends))
	if r.Flag("rope.scaling.finetuned", true) { // which says whether there are positions
		r.Fields["position_embedding_type"] = "rope"
	}
	r.Integer("shared_intermediate_size", "expert_shared_feed_forward_length", false)
	if r.IntegerOf("expert_count") == 0 {
		r.Fields["num_local_experts"], r.Fields["shared_intermediate_size"] = 0, r.Fields["intermediate_size"]
		return
	}
	r.Experts("num_local_experts", llamacpp.SoftmaxOfAll)
}

// readHeadsByLayer reads the heads of keys and values and the kinds of layers, of which those
// without such heads are of the kind otherwise. It returns the number of the first layer with
// attention, and of the first without; -1: there is none.
func readHeadsByLayer(r *llamacpp.Reader, otherwise string) (attends, others int) {
	key := r.Key("attention.head_count_kv")
	heads := r.Integers("attention.head_count_kv")
	kinds := make([]string, len(heads))
	for i, n := range heads {
		if kinds[i] = otherwise; n == 0 {
			continue
		}
		kinds[i] = configuration.FullAttention
		if own, ok := r.Fields["num_key_value_heads"]; ok && own != n {
			r.Note(configuration.KeyError(key, heads, "not supported: the heads of layers differ"))
		}
		r.Fields["num_key_value_heads"] = n
	}
	r.Fields["layer_types"] = kinds
	return slices.Index(kinds, configuration.FullAttention), slices.Index(kinds, otherwise)
}

// readFalconH1GGUF reads what Falcon-H1 has. The file's weights are multiplied already.
func readFalconH1GGUF(r *llamacpp.Reader) {
	readMambaGGUF(r, hybridNames, 0)
	r.Integer("mamba_d_ssm", "ssm.inner_size", true)
	r.Fields["mamba_rms_norm"], r.Fields["mamba_norm_before_gate"] = r.Has("blk.0.ssm_norm.weight"), false
	r.Fields["projectors_bias"], r.Fields["mlp_bias"] = r.Has("blk.0.ssm_out.bias"), r.Has("blk.0.ffn_down.bias")
	readBiasGGUF(r)
}

// readNemotronGGUF reads what Nemotron-H has. A layer without heads of keys and values and without
// a feed-forward network has Mamba-2, and a network with a router is a mixture of experts. Time
// steps have no least value there, and positions no effect.
func readNemotronGGUF(r *llamacpp.Reader) {
	for _, key := range []string{"attention.layer_norm_epsilon", "rope.dimension_count", "rope.freq_base", "rope.scaling.finetuned"} {
		r.Key(key)
	}
	r.Rename("layer_norm_epsilon", "rms_norm_eps")
	attends, _ := readHeadsByLayer(r, nemotronFeed)
	kinds, _ := r.Fields["layer_types"].([]string)
	delete(r.Fields, "layer_types")
	mamba, feeds := -1, -1
	for i, width := range r.Integers("feed_forward_length") {
		switch {
		case i >= len(kinds): // an error already
		case kinds[i] == nemotronAttention && width != 0:
			r.Refuse("feed_forward_length", width, "layer %d has attention, too", i)
		case kinds[i] == nemotronFeed && width == 0:
			kinds[i], mamba = nemotronMamba, max(mamba, i)
		case kinds[i] == nemotronFeed && r.Has(fmt.Sprintf("blk.%d.ffn_gate_inp.weight", i)):
			kinds[i] = nemotronExperts // whose width has a key of its own
		case width != 0:
			if feeds >= 0 && r.Fields["intermediate_size"] != width {
				r.Refuse("feed_forward_length", width, "of layer %d: widths that differ are not supported", i)
			}
			r.Fields["intermediate_size"], feeds = width, i
		}
	}
	r.Fields["layers_block_type"], r.Fields["time_step_min"] = kinds, 0
	if slices.Contains(kinds, nemotronExperts) {
		readNemotronExperts(r)
	}
	readMambaGGUF(r, nemotronFields, mamba)
	readMambaInner(r, nemotronFields.HeadDim, "ssm.time_step_rank")
	r.Fields["mlp_bias"], r.Fields["attention_bias"] = r.Has(fmt.Sprintf("blk.%d.ffn_down.bias", feeds)), r.Has(fmt.Sprintf("blk.%d.attn_q.bias", attends))
}
