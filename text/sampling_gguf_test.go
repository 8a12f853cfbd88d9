package text

import (
	"errors"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// TestSamplingOfGGUF: the keys general.sampling of a GGUF file are its defaults, with llama.cpp's
// for those that it leaves out. A file without such keys says so.
func TestSamplingOfGGUF(t *testing.T) {
	t.Parallel()
	const file = "../models/testdata/gguf/gemma3/f32.gguf"
	for name, c := range map[string]struct {
		keys       map[string]any
		from       string
		want       generation.Sampling
		repetition float64
		warnings   string
	}{
		"none":       {nil, "", generation.Sampling{}, 1, ""},
		"all":        {map[string]any{"temp": float32(0.5), "top_k": int32(7), "top_p": float32(0.75), "min_p": float32(0.25), "penalty_repeat": float32(1.5)}, "general.sampling", generation.Sampling{Temperature: 0.5, TopK: 7, TopP: 0.75, MinP: 0.25, TypicalP: 1}, 1.5, ""},
		"one":        {map[string]any{"temp": float32(2)}, "general.sampling", generation.Sampling{Temperature: 2, TopK: 40, TopP: 0.95, MinP: 0.05, TypicalP: 1}, 1, ""},
		"greedy":     {map[string]any{"temp": float32(-1), "top_k": int32(3)}, "general.sampling", generation.Sampling{}, 1, ""},
		"a zero":     {map[string]any{"top_p": float32(0), "top_k": int32(-1)}, "general.sampling", generation.Sampling{Temperature: 0.8, TopP: generation.ZeroP, MinP: 0.05, TypicalP: 1}, 1, ""},
		"mirostat":   {map[string]any{"mirostat": int32(2), "xtc_probability": float32(0.5), "sequence": "kt"}, "general.sampling", generation.Sampling{Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05, TypicalP: 1}, 1, "mirostat xtc_probability sequence"},
		"last words": {map[string]any{"penalty_repeat": float32(1.25), "penalty_last_n": int32(64)}, "general.sampling", generation.Sampling{Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05, TypicalP: 1}, 1.25, "penalty_last_n"},
	} {
		change := map[string]any{}
		for key, value := range c.keys {
			change["general.sampling."+key] = value
		}
		var warnings []string
		o := Options{Model: models.Options{Warn: func(w string) { warnings = append(warnings, w) }}}
		g := tftest.Must(OpenGenerator(tftest.RewriteGGUF(t, file, change), o))(t)
		got := tftest.Must(g.Defaults())(t)
		if got.Sampling != c.want || got.RepetitionPenalty != c.repetition || g.SamplingFrom() != c.from {
			t.Errorf("%s: %+v, %g, from %q", name, got.Sampling, got.RepetitionPenalty, g.SamplingFrom())
		}
		for _, key := range strings.Fields(c.warnings) {
			if !strings.Contains(strings.Join(warnings, "\n"), "general.sampling."+key+" = ") {
				t.Errorf("%s: no warning of %s in %q", name, key, warnings)
			}
		}
		if c.warnings == "" && strings.Contains(strings.Join(warnings, ""), "sampling") {
			t.Errorf("%s: %q", name, warnings)
		}
	}
	for key, value := range map[string]any{"temp": "warm", "top_k": float32(1), "penalty_repeat": float32(0)} {
		if _, err := OpenGenerator(tftest.RewriteGGUF(t, file, map[string]any{"general.sampling." + key: value}), Options{}); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s = %v: %v", key, value, err)
		}
	}
	for key, value := range map[string]any{"min_p": float32(-1), "top_p": float32(2)} {
		g := tftest.Must(OpenGenerator(tftest.RewriteGGUF(t, file, map[string]any{"general.sampling." + key: value}), Options{}))(t)
		if _, err := g.Defaults(); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s = %v: %v", key, value, err)
		}
	}
}
