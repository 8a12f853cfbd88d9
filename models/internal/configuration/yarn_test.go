package configuration

import (
	"math"
	"testing"
)

// TestYarn compares frequencies with what transformers 5.24 computes (ROPE_INIT_FUNCTIONS for heads
// of 8), where the pairs to blend between lie beyond all pairs, or on one place.
func TestYarn(t *testing.T) {
	for config, want := range map[string][]float64{
		// Both ends are the last pair.
		`{"rope_theta": 100, "factor": 4, "original_max_position_embeddings": 1000000}`: {1, 0.3162278, 0.1, 0.03162278},
		// The upper end, at most 7, is below the lower one.
		`{"rope_theta": 100, "factor": 4, "original_max_position_embeddings": 1000000, "truncate": false}`: {0.25, 0.07905694, 0.025, 0.007905695},
		// The upper end is at most 7.
		`{"rope_theta": 100, "factor": 4, "original_max_position_embeddings": 1000000, "beta_fast": 100000}`: {1, 0.2823462, 0.07857143, 0.02145831},
		// Both ends are 0.
		`{"rope_theta": 10000, "factor": 4, "original_max_position_embeddings": 6}`: {1, 0.025, 0.0025, 0.00025},
		// Both ends are 1.9995, so that pair 2 is halfway through what lies between.
		`{"rope_theta": 10000, "factor": 4, "original_max_position_embeddings": 4096, "beta_fast": 6.5264960516102954, "beta_slow": 6.5264960516102954, "truncate": false}`: {1, 0.1, 0.006250272, 0.00025},
	} {
		d, err := Parse("config.json", []byte(`{"rope_parameters": {"rope_type": "yarn", `+config[1:]+`}`))
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Rotary(Rope(1), 8, 4096)
		if err != nil {
			t.Fatalf("%s: %v", config, err)
		}
		for i, f := range c.Frequencies {
			if !(math.Abs(f-want[i]) <= 1e-4*want[i]) { // the blend is computed in float32 there
				t.Errorf("%s: frequencies %v, want %v", config, c.Frequencies, want)
				break
			}
		}
		if want := 0.1*math.Log(4) + 1; math.Abs(c.Factor-want) > 1e-12 {
			t.Errorf("%s: attention factor %v, want %v", config, c.Factor, want)
		}
	}
}
