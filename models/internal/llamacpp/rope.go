package llamacpp

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// Rotary positions of GGUF files. Source: what llama.cpp does with their metadata.

// rope reads which part of a head turns, and how frequencies are scaled.
func (r *Reader) rope(own ggufDecoder) {
	heads, width := r.integerOf("attention.head_count"), r.integerOf("attention.key_length")
	if width == 0 && heads > 0 {
		width = r.integerOf("embedding_length") / heads
	}
	turned := width
	if n := r.integerOf("rope.dimension_count"); n > 0 && width > 0 {
		turned = n
		r.fields[cmp.Or(own.partial, "partial_rotary_factor")] = float64(n) / float64(width)
		if n != width && own.partial == "" {
			r.note(configuration.KeyError(r.key("rope.dimension_count"), n, "heads of %d are not supported", width))
		}
	}
	const most = 1 << 16 // more is refused where it is used
	r.scaling(int(min(turned, most)) / 2)
}

// scaling is rope_scaling. Frequencies are divided by a factor for all, which needs no scaling
// type beside it, and by those of tensors, one for each frequency.
func (r *Reader) scaling(frequencies int) {
	kind, err := r.file.Text(r.key("rope.scaling.type"))
	if err != nil && !errors.Is(err, gguf.ErrAbsent) {
		r.note(err)
	}
	old := r.numberOf("rope.scale_linear", 0)
	factor := r.numberOf("rope.scaling.factor", old)
	if factor == 0 || kind == "none" {
		factor = 1
	}
	if !(factor > 0) {
		r.note(configuration.KeyError(r.key("rope.scaling.factor"), factor, "want a number above 0"))
	}
	attention := r.numberOf("rope.scaling.attn_factor", 1)
	if r.Architecture == "gemma3" { // whose layers with windows are not scaled here
		r.want("rope.scaling.attn_factor", 1)
	}
	original := cmp.Or(r.integerOf("rope.scaling.original_context_length"), r.integerOf("context_length"))
	divided := func(factors []float32) []float64 {
		all := make([]float64, len(factors))
		for i, f := range factors {
			all[i] = float64(f) * factor
		}
		return all
	}
	by := func(short, long []float64, original int64) map[string]any {
		return map[string]any{"rope_type": "longrope", "short_factor": short, "long_factor": long, "attention_factor": attention, "original_max_position_embeddings": original}
	}
	switch long, one := r.has("rope_factors_long.weight"), r.has("rope_freqs.weight"); {
	case kind == "yarn" && (long || one):
		r.note(configuration.KeyError(r.key("rope.scaling.type"), "yarn", "not supported beside factors in tensors"))
	case kind == "yarn":
		r.fields["rope_scaling"] = r.yarn(factor, attention, original)
	case kind != "" && kind != "none" && kind != "linear" && kind != "longrope":
		r.note(configuration.KeyError(r.key("rope.scaling.type"), kind, "unknown"))
	case long:
		r.fields["rope_scaling"] = by(divided(r.floats("rope_factors_short.weight")), divided(r.floats("rope_factors_long.weight")), original)
		r.fields["original_max_position_embeddings"] = original
	case one:
		all := divided(r.floats("rope_freqs.weight"))
		r.fields["rope_scaling"] = by(all, all, 1)
	case factor != 1 || attention != 1:
		all := slices.Repeat([]float64{factor}, frequencies)
		r.fields["rope_scaling"] = by(all, all, 1)
	}
}

// yarn is rope_scaling of that type.
func (r *Reader) yarn(factor, attention float64, original int64) map[string]any {
	r.want("rope.scaling.yarn_ext_factor", 1)
	r.want("rope.scaling.yarn_attn_factor", 1)
	r.want("rope.scaling.yarn_log_multiplier", 0)
	return map[string]any{
		"truncate":  r.Architecture != "gpt-oss", // where llama.cpp rounds as for all others, but the model does not
		"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original, "attention_factor": attention * (1 + 0.1*math.Log(factor)),
		"beta_fast": r.numberOf("rope.scaling.yarn_beta_fast", 32), "beta_slow": r.numberOf("rope.scaling.yarn_beta_slow", 1),
	}
}

// floats is the elements of a small tensor.
func (r *Reader) floats(name string) []float32 {
	const most = 1 << 16
	if info, _ := r.file.Info(name); info.Len() > most {
		r.note(check.Errorf(check.ErrConfig, "%s has %d elements", name, info.Len()))
		return nil
	}
	x, err := r.file.Float32(name)
	r.note(err)
	return x
}
