package models

import (
	"testing"

	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// TestStepLimits: bounds of time steps as transformers 4 and 5 write them.
func TestStepLimits(t *testing.T) {
	for text, want := range map[string]*transformer.Mamba2Config{
		`null`:                             {},
		`[0.0, Infinity]`:                  {},
		`[0.5, {"__float__": "Infinity"}]`: {StepMin: 0.5},
		`[0, 1e39]`:                        {},
		`[0.25, 0.5]`:                      {StepMin: 0.25, StepMax: 0.5},
		`[]`:                               nil, `[1]`: nil, `[2, 1]`: nil, `[-1, 1]`: nil, `[0, 0]`: nil, `[NaN, 1]`: nil, `[0, "1"]`: nil, `[Infinity, Infinity]`: nil, `[0, {"__float__": "NaN"}]`: nil, `[0, {}]`: nil, `3`: nil,
	} {
		d, err := configuration.Parse("config.json", []byte(`{"time_step_limit": `+text+`}`))
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			Limit stepLimit `json:"time_step_limit"`
		}
		var got transformer.Mamba2Config
		if err = d.Decode(&f); err == nil {
			err = f.Limit.bound(d, &got)
		}
		switch {
		case want == nil && err == nil:
			t.Errorf("%s: no error", text)
		case want != nil && (err != nil || got.StepMin != want.StepMin || got.StepMax != want.StepMax):
			t.Errorf("%s: from %g to %g, error %v", text, got.StepMin, got.StepMax, err)
		}
	}
}
