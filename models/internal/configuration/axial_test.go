package configuration

import (
	"errors"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestAxialTheta has the base of axial positions in every place where transformers reads it.
func TestAxialTheta(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		`{}`:                  100,
		`{"rope_theta": 123}`: 123,
		`{"rope_parameters": {"rope_theta": 77, "rope_type": "axial"}, "rope_theta": 123}`:                                          77,
		`{"rope_parameters": {"rope_type": "default"}, "rope_theta": 123}`:                                                          123,
		`{"rope_parameters": {"full_attention": {"rope_type": "linear"}, "sliding_attention": {"rope_theta": 9}}}`:                  100,
		`{"rope_parameters": {"full_attention": {"rope_type": "linear"}, "sliding_attention": {"rope_theta": 9}}, "rope_theta": 5}`: 5,
		`{"rope_scaling": {"rope_theta": 500}, "rope_parameters": {"type": "yarn", "rope_theta": 77}}`:                              500,
		`{"rope_scaling": {}, "rope_parameters": {"rope_theta": 77, "partial_rotary_factor": 0.5}}`:                                 77,
		`{"rope_scaling": {"factor": 2}, "rope_theta": 123}`:                                                                        123,
	} {
		d, err := Parse("config.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.AxialTheta(100); got != want || err != nil {
			t.Errorf("%s: base %g, error %v, want %g", text, got, err, want)
		}
	}
	for text, field := range map[string]string{
		`{"rope_parameters": {"rope_type": "linear"}}`:                           "rope_parameters.rope_type",
		`{"rope_scaling": {"type": "yarn"}, "rope_parameters": {}}`:              "rope_scaling.type",
		`{"rope_parameters": {"rope_type": "axial", "rope_theta": 0.5}}`:         "rope_parameters.rope_theta",
		`{"rope_parameters": {"type": "axial", "rope_type": "dynamic"}}`:         "rope_parameters.rope_type",
		`{"rope_parameters": {"rope_type": "axial"}, "rope_theta": "a hundred"}`: "rope_theta",
	} {
		d, err := Parse("config.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.AxialTheta(100)
		if e := new(fault.Error); !errors.As(err, &e) || e.Field != field || !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s: %v, want an error of %q", text, err, field)
		}
	}
}
