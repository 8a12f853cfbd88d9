// Package overrides has the options of sampling that generation_config.json and the requests of HTTP protocols state under the
// same names.
package overrides

import "github.com/avoformer/avoformer/generation"

// Sampling is the options that a file or a request states. nil leaves an option as it is.
type Sampling struct {
	Temperature *float64 `json:"temperature"`
	TopK        *int     `json:"top_k"`
	TopP        *float64 `json:"top_p"`
	MinP        *float64 `json:"min_p"`
	TypicalP    *float64 `json:"typical_p"`
}

// Apply sets in o what is stated.
func (s *Sampling) Apply(o *generation.Sampling) {
	set(&o.Temperature, s.Temperature)
	set(&o.TopK, s.TopK)
	set(&o.TopP, s.TopP)
	set(&o.MinP, s.MinP)
	set(&o.TypicalP, s.TypicalP)
}

// Any reports whether something is stated.
func (s *Sampling) Any() bool { return *s != Sampling{} }

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
