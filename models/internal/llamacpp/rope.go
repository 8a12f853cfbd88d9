package llamacpp

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// Rotary positions of GGUF files. Source: what llama.cpp does with their metadata.

// Rope reads which part of a head turns, and how frequencies are scaled.
func (r *Reader) Rope() {
	heads, width := r.IntegerOf("attention.head_count"), r.IntegerOf("attention.key_length")
	if width == 0 && heads > 0 {
		width = r.IntegerOf("embedding_length") / heads
	}
	if r.own.Latent {
		width = r.IntegerOf("rope.dimension_count")
	}
	turned := width
	if n := r.IntegerOf("rope.dimension_count"); n > 0 && width > 0 {
		turned = n
		r.Fields[cmp.Or(r.own.Partial, "partial_rotary_factor")] = float64(n) / float64(width)
		if n != width && r.own.Partial == "" {
			r.Refuse("rope.dimension_count", n, "heads of %d are not supported", width)
		}
	}
	const most = 1 << 16 // more is refused where it is used
	r.scaling(int(min(turned, most)) / 2)
}

// scaling is rope_scaling. Frequencies are divided by a factor for all, which needs no scaling
// type beside it, and by those of tensors, one for each frequency.
func (r *Reader) scaling(frequencies int) {
	kind, err := r.File.Text(r.Key("rope.scaling.type"))
	if err != nil && !errors.Is(err, fault.ErrAbsent) {
		r.Note(err)
	}
	old := r.NumberOf("rope.scale_linear", 0)
	factor := r.NumberOf("rope.scaling.factor", old)
	if factor == 0 || kind == "none" {
		factor = 1
	}
	if !(factor > 0) {
		r.Refuse("rope.scaling.factor", factor, "want a number above 0")
	}
	attention := r.NumberOf("rope.scaling.attn_factor", 1)
	if r.own.Unscaled { // whose layers with windows are not scaled here
		r.Want("rope.scaling.attn_factor", 1)
	}
	original := cmp.Or(r.IntegerOf("rope.scaling.original_context_length"), r.IntegerOf("context_length"))
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
	switch long, one := r.Has("rope_factors_long.weight"), r.Has("rope_freqs.weight"); {
	case kind == "yarn" && (long || one):
		r.Refuse("rope.scaling.type", "yarn", "not supported together with factors in tensors")
	case kind == "yarn":
		r.Fields["rope_scaling"] = r.yarn(factor, attention, original)
	case kind != "" && kind != "none" && kind != "linear" && kind != "longrope":
		r.Refuse("rope.scaling.type", kind, "unknown")
	case long:
		r.Fields["rope_scaling"] = by(divided(r.floats("rope_factors_short.weight")), divided(r.floats("rope_factors_long.weight")), original)
		r.Fields["original_max_position_embeddings"] = original
	case one:
		all := divided(r.floats("rope_freqs.weight"))
		r.Fields["rope_scaling"] = by(all, all, 1)
	case factor != 1 || attention != 1:
		all := slices.Repeat([]float64{factor}, frequencies)
		r.Fields["rope_scaling"] = by(all, all, 1)
	}
}

// yarn is rope_scaling of that type.
func (r *Reader) yarn(factor, attention float64, original int64) map[string]any {
	r.Want("rope.scaling.yarn_ext_factor", 1)
	sharpen := func(m float64) float64 { return 1 + float64(0.1*m*elementary.Log(max(factor, 1))) }
	attention *= sharpen(1)
	if m := r.NumberOf("rope.scaling.yarn_log_multiplier", 0); m != 0 {
		attention /= sharpen(m)
	}
	const key, close = "rope.scaling.yarn_attn_factor", 1e-5 // llama.cpp reads the key, and computes it
	if said := r.NumberOf(key, 1); said != 1 && math.Abs(said-attention) > close {
		r.Refuse(key, said, "want %g, which is what llama.cpp takes", attention)
	}
	return map[string]any{
		"truncate":  !r.own.Fractional, // where llama.cpp rounds as for all others, but the model does not
		"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original, "attention_factor": attention,
		"beta_fast": r.NumberOf("rope.scaling.yarn_beta_fast", 32), "beta_slow": r.NumberOf("rope.scaling.yarn_beta_slow", 1),
	}
}

// RopeByKind is rope_parameters of layers with windows and of those without: of these, factors in a tensor may leave the last pairs
// of each head of the given size as they are.
func (r *Reader) RopeByKind(headDim int64) {
	local, global := map[string]any{"rope_type": "default"}, map[string]any{"rope_type": "default"}
	base := r.NumberOf("rope.freq_base", 10000)
	global["rope_theta"], local["rope_theta"] = Shortest(base), Shortest(r.NumberOf("rope.freq_base_swa", base))
	r.Want("rope.scaling.factor", 1)
	if r.Has("rope_freqs.weight") {
		factors := r.floats("rope_freqs.weight")
		turned := len(factors)
		for i, f := range factors {
			switch {
			case f >= 1e30: // which turns no more
				turned = min(turned, i)
			case f != 1 || i > turned:
				r.Note(configuration.KeyError("rope_freqs.weight", f, "want 1 for the pairs that turn, and then 1e30"))
			}
		}
		if headDim < 1 || int64(2*len(factors)) != headDim {
			r.Note(configuration.KeyError("rope_freqs.weight", len(factors), "want %d elements, half a head", headDim/2))
			return
		}
		global["rope_type"], global["partial_rotary_factor"] = "proportional", min((2*float64(turned)+0.5)/float64(headDim), 1)
	}
	r.Fields["rope_parameters"] = map[string]any{configuration.FullAttention: global, configuration.SlidingAttention: local}
}

// floats returns the elements of a small tensor.
func (r *Reader) floats(name string) []float32 {
	const most = 1 << 16
	if info, _ := r.File.Info(name); info.Len() > most {
		r.Note(check.Errorf(fault.ErrConfig, "%s has %d elements", name, info.Len()))
		return nil
	}
	x, err := r.File.Float32(name)
	r.Note(err)
	return x
}
