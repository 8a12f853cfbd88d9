// Package overrides has the sampling options that generation_config.json and HTTP requests state
// under the same names.
package overrides

import (
	"errors"
	"reflect"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
)

// Sampling has the options that a file or a request states, under the names of the fields of
// generation.Sampling. nil leaves an option as it is.
type Sampling struct {
	Temperature *float64 `json:"temperature"`
	TopK        *int     `json:"top_k"`
	TopP        *float64 `json:"top_p"`
	MinP        *float64 `json:"min_p"`
	TypicalP    *float64 `json:"typical_p"`
}

// These are the defaults of other programs. They apply to models whose files do not say how tokens
// are chosen.
var (
	LlamaCpp = generation.Sampling{Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05}
	Ollama   = generation.Sampling{Temperature: 0.8, TopK: 40, TopP: 0.9}
	// OpenAI has the default of OpenAI's and Anthropic's protocols.
	OpenAI = generation.Sampling{Temperature: 1}
)

// Apply sets in o the options that are stated. If a probability is stated as 0, one token is left.
func (s *Sampling) Apply(o *generation.Sampling) {
	set(&o.Temperature, s.Temperature)
	set(&o.TopK, s.TopK)
	set(&o.TopP, part(s.TopP))
	set(&o.MinP, s.MinP)
	set(&o.TypicalP, part(s.TypicalP))
}

// Check returns an error for a number outside its range, or nil. The error's Field is the name of
// the option in files and requests. A negative number of tokens means all of them.
func (s *Sampling) Check() *fault.Error {
	var o generation.Sampling
	s.Apply(&o)
	o.TopK = max(o.TopK, 0)
	_, err := generation.NewSampler(generation.SamplerConfig{Vocab: 1, Sampling: o})
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return nil
	}
	named := *e
	field, _ := reflect.TypeFor[Sampling]().FieldByName(e.Field)
	named.Field = field.Tag.Get("json")
	return &named
}

// Any reports whether any option is stated.
func (s *Sampling) Any() bool { return *s != Sampling{} }

// part returns the value in generation.Sampling for a stated probability. There, 0 means that none
// is stated.
func part(p *float64) *float64 {
	if p != nil && *p == 0 {
		zero := generation.ZeroP
		return &zero
	}
	return p
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
