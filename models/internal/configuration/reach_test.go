package configuration_test

import (
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// TestReach: positions of the type dynamic reach as far as their factor says, and all others as far
// as max_position_embeddings.
func TestReach(t *testing.T) {
	for text, want := range map[string]int{
		`{}`: 16,
		`{"rope_parameters": {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}}`: 64,
		`{"rope_scaling": {"type": "dynamic", "factor": 2.5}}`:                                40,
		`{"rope_scaling": {"rope_type": "dynamic", "factor": 0.5}}`:                           16,
		`{"rope_scaling": {"rope_type": "dynamic"}}`:                                          16,
		`{"rope_scaling": {"rope_type": "dynamic", "factor": 1e300}}`:                         1<<31 - 1,
		`{"rope_scaling": {"rope_type": "linear", "type": "dynamic", "factor": 4.0}}`:         16,
		`{"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}`:                              16,
	} {
		d := tftest.Must(configuration.Parse("config.json", []byte(text)))(t)
		if got := d.Reach("", 16); got != want {
			t.Errorf("%s: %d positions, want %d", text, got, want)
		}
	}
	d := tftest.Must(configuration.Parse("config.json", []byte(`{"rope_parameters": {"full_attention": {"rope_type": "dynamic", "factor": 4.0}}}`)))(t)
	if full, sliding := d.Reach(configuration.FullAttention, 16), d.Reach(configuration.SlidingAttention, 16); full != 64 || sliding != 16 {
		t.Errorf("%d and %d positions by kind, want 64 and 16", full, sliding)
	}
}
