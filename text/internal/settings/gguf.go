package settings

import (
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/overrides"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// samplingKeys is the prefix of keys of a GGUF file that say how to choose tokens.
const samplingKeys = "general.sampling."

// readGGUF reads what a GGUF file says about generating. As in llama.cpp, options that it does not
// state have llama.cpp's defaults if it states others.
func readGGUF(path string, vocab int, warn func(warning string)) (*Settings, error) {
	s := &Settings{File: path}
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := overrides.LlamaCpp
	number := func(name string, to *float64) {
		if err == nil && s.states(f, name) {
			*to, err = f.Float(samplingKeys + name)
		}
	}
	whole := func(name string, to *int) {
		if n := int64(0); err == nil && s.states(f, name) {
			n, err = f.Int(samplingKeys + name)
			*to = int(min(n, 1<<31))
		}
	}
	repeat, last, mirostat, xtc := 1.0, -1, 0, 0.0
	number("temp", &d.Temperature)
	whole("top_k", &d.TopK)
	number("top_p", &d.TopP)
	number("min_p", &d.MinP)
	number("penalty_repeat", &repeat)
	whole("penalty_last_n", &last)
	whole("mirostat", &mirostat)
	number("xtc_probability", &xtc)
	if err != nil {
		return nil, check.InFile(path, fault.ErrConfig, err)
	}
	if s.From == "" {
		return s, nil
	}
	d.TopK = max(d.TopK, 0)
	s.Sample = d.Temperature > 0
	s.Sampling = overrides.Sampling{Temperature: &d.Temperature, TopK: &d.TopK, TopP: &d.TopP, MinP: &d.MinP}
	s.Repetition = &repeat
	ignored := func(name string, value any, why string) {
		warn(fmt.Sprintf("%s%s = %v: %s", samplingKeys, name, value, why))
	}
	if repeat != 1 && last > 0 {
		ignored("penalty_last_n", last, "the penalty counts all tokens")
	}
	if mirostat != 0 {
		ignored("mirostat", mirostat, "not supported: the other options hold")
	}
	if xtc > 0 {
		ignored("xtc_probability", xtc, "not supported: the other options hold")
	}
	if s.states(f, "sequence") {
		order, _ := f.Text(samplingKeys + "sequence")
		ignored("sequence", order, "not supported: the order is that of transformers")
	}
	return s, s.check(vocab)
}

// states reports whether a GGUF file has a key about sampling. Then the keys are where the settings
// are from.
func (s *Settings) states(f *gguf.File, name string) bool {
	_, ok := f.Value(samplingKeys + name)
	if ok {
		s.From = strings.TrimSuffix(samplingKeys, ".")
	}
	return ok
}
