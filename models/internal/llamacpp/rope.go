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
	width := r.HeadWidth()
	if r.own.Latent {
		width = r.IntegerOf("rope.dimension_count")
	}
	turned := cmp.Or(r.IntegerOf("rope.dimension_count"), width)
	if turned > 0 && width > 0 {
		r.Fields[cmp.Or(r.own.Partial, "partial_rotary_factor")] = float64(turned) / float64(width)
		if turned != width && r.own.Partial == "" {
			r.Refuse("rope.dimension_count", turned, "heads of %d are not supported", width)
		}
	}
	const most = 1 << 16 // more is refused where it is used
	r.scaling(int(min(turned, most)) / 2)
}

// HeadWidth returns the width of the heads of queries and keys.
func (r *Reader) HeadWidth() int64 {
	width, heads := r.IntegerOf("attention.key_length"), r.IntegerOf("attention.head_count")
	if width == 0 && heads > 0 {
		width = r.IntegerOf("embedding_length") / heads
	}
	return width
}

// factor returns what frequencies are divided by unless the type of scaling is "none".
func (r *Reader) factor() float64 {
	old := r.NumberOf("rope.scale_linear", 0)
	return cmp.Or(r.NumberOf("rope.scaling.factor", old), 1)
}

// scaling is rope_scaling. Frequencies are divided by a factor for all, which needs no scaling type
// beside it, and by those of tensors, one for each frequency.
func (r *Reader) scaling(frequencies int) {
	kind, err := r.File.Text(r.Key("rope.scaling.type"))
	if err != nil && !errors.Is(err, fault.ErrAbsent) {
		r.Note(err)
	}
	factor := r.factor()
	if kind == "none" {
		factor = 1
	}
	if !(factor > 0) {
		r.Refuse("rope.scaling.factor", factor, "want a number above 0")
	}
	attention := r.NumberOf("rope.scaling.attn_factor", 1)
	switch {
	case !(attention > 0):
		r.Refuse("rope.scaling.attn_factor", attention, "want a number above 0")
	case r.own.Unscaled: // whose layers with windows are not scaled here
		r.Want("rope.scaling.attn_factor", 1)
	}
	if kind == "yarn" && factor < 1 { // which llama.cpp takes for a factor of attention, unlike the paper
		r.Refuse("rope.scaling.factor", factor, "want at least 1 with yarn")
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

// yarn is rope_scaling of that type. llama.cpp reads three of its keys only for architectures with
// YarnKeys, and two for no architecture that opens here: such a key counts as read if it says what
// is computed anyway.
func (r *Reader) yarn(factor, attention float64, original int64) map[string]any {
	fast, slow, multiplier := 32.0, 1.0, 0.0
	if r.own.YarnKeys {
		fast, slow = r.NumberOf("rope.scaling.yarn_beta_fast", fast), r.NumberOf("rope.scaling.yarn_beta_slow", slow)
		multiplier = r.NumberOf("rope.scaling.yarn_log_multiplier", multiplier)
	}
	sharpen := func(m float64) float64 { return 1 + float64(0.1*m*elementary.Log(max(factor, 1))) }
	attention *= sharpen(1)
	if multiplier != 0 {
		attention /= sharpen(multiplier)
	}
	for key, computed := range map[string][]float64{
		"yarn_beta_fast": {fast}, "yarn_beta_slow": {slow}, "yarn_log_multiplier": {0}, "yarn_ext_factor": {1}, "yarn_attn_factor": {1, attention},
	} {
		const close = 1e-5
		if x, err := r.File.Float(r.Architecture + ".rope.scaling." + key); err == nil && slices.ContainsFunc(computed, func(c float64) bool { return math.Abs(x-c) <= close }) {
			r.Key("rope.scaling." + key)
		}
	}
	return map[string]any{
		"truncate":  !r.own.Fractional, // where llama.cpp rounds as for all others, but the model does not
		"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original, "attention_factor": attention,
		"beta_fast": fast, "beta_slow": slow,
	}
}

// RopeByKind is rope_parameters of layers with windows and of those without: of these, factors in a
// tensor may leave the last pairs of each head of the given size as they are.
func (r *Reader) RopeByKind(headDim int64) {
	local, global := map[string]any{"rope_type": "default"}, map[string]any{"rope_type": "default"}
	base := r.NumberOf("rope.freq_base", 10000)
	global["rope_theta"], local["rope_theta"] = Shortest(base), Shortest(r.NumberOf("rope.freq_base_swa", 10000))
	if factor := r.factor(); factor != 1 {
		r.Refuse("rope.scaling.factor", factor, "not supported")
	}
	if kind, err := r.File.Text(r.Key("rope.scaling.type")); err == nil && kind != "none" && kind != "linear" {
		r.Refuse("rope.scaling.type", kind, "not supported")
	}
	r.Want("rope.scaling.attn_factor", 1)
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
