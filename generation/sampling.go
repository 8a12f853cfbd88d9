package generation

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
)

// Sampling describes how a token is drawn from logits: Temperature, then the filters TopK, TopP,
// MinP and TypicalP, in this order. Each filter leaves at least one token. The zero value takes the
// most likely token, and the zero value of a filter turns it off; ZeroP stands for a TopP or
// TypicalP of 0.
type Sampling struct {
	// Temperature divides the logits; 0 takes the most likely token.
	Temperature float64
	// TopK keeps the K most likely tokens, and those as likely as the last of them; 0 keeps all.
	TopK int
	// TopP keeps the most likely tokens that together have this probability, at least one, and of
	// equally likely tokens those with the highest ids; 0 and 1 keep all, ZeroP keeps one.
	TopP float64
	// MinP keeps the tokens that are at least this times as likely as the most likely one; 0 keeps
	// all.
	MinP float64
	// TypicalP keeps the tokens whose information is closest to the entropy and that together have
	// this probability (Meister et al., "Locally Typical Sampling", 2022), and those as close as
	// the last of them; 0 and 1 keep all, ZeroP keeps the closest.
	TypicalP float64
	// Seed determines the draws: the same seed gives the same tokens for the same logits. 0 stands
	// for a seed drawn at random.
	Seed uint64
}

// ZeroP stands for a probability of 0 in TopP and TypicalP, where the number 0 is the zero value
// and means that there is no filter. Clients that write "top_p": 0 ask for the most likely token.
const ZeroP = math.SmallestNonzeroFloat64

// check returns an error that matches fault.ErrOption for a number outside its range.
func (s *Sampling) check() error {
	if err := check.Between("Temperature", s.Temperature, 0, math.MaxFloat32); err != nil {
		return err
	}
	for _, f := range filters {
		if err := check.Between(f.name, f.value(s), 0, f.most); err != nil {
			return err
		}
	}
	return nil
}

// Filtered reports whether a field turns a filter on, so that some tokens may not be drawn.
func (s *Sampling) Filtered() bool {
	return slices.ContainsFunc(filters, func(f filter) bool { return f.on(s) })
}

// A filter leaves out tokens before one is drawn.
type filter struct {
	name  string                        // its field of Sampling
	value func(s *Sampling) float64     // of the field
	most  float64                       // that the value may be
	on    func(s *Sampling) bool        // whether it may leave out tokens
	apply func(s *Sampling, w *scratch) // leaves out some of w.kept
	least func(s *Sampling, w *scratch, p []float32, all, best float64) float32
}

// filters has all filters in the order in which they apply. Some have the function least: it
// returns a probability that each token reaches that the filter keeps, where p has the
// probabilities of all tokens, all is their sum and best the highest of them.
var filters = []filter{{
	name: "TopK", most: math.MaxInt32,
	value: func(s *Sampling) float64 { return float64(s.TopK) },
	on:    func(s *Sampling) bool { return s.TopK > 0 },
	apply: func(_ *Sampling, w *scratch) { slices.SortFunc(w.kept, likelier) }, // candidates has kept the others out
}, {
	name: "TopP", most: 1,
	value: func(s *Sampling) float64 { return s.TopP },
	on:    func(s *Sampling) bool { return within(s.TopP) },
	apply: func(s *Sampling, w *scratch) { w.topP(s.TopP) },
	least: func(s *Sampling, w *scratch, p []float32, all, _ float64) float32 { return w.floor(p, s.TopP, all) },
}, {
	name: "MinP", most: 1,
	value: func(s *Sampling) float64 { return s.MinP },
	on:    func(s *Sampling) bool { return s.MinP > 0 },
	apply: func(s *Sampling, w *scratch) { w.minP(s.MinP) },
	least: func(s *Sampling, _ *scratch, _ []float32, _, best float64) float32 {
		return float32(s.MinP * best * (1 - slack))
	},
}, {
	name: "TypicalP", most: 1,
	value: func(s *Sampling) float64 { return s.TypicalP },
	on:    func(s *Sampling) bool { return within(s.TypicalP) },
	apply: func(s *Sampling, w *scratch) { w.typicalP(s.TypicalP) },
}}

// within reports whether a filter by probability leaves anything out.
func within(p float64) bool { return p > 0 && p < 1 }

// filter returns the tokens of scores that remain after temperature and filters; none if the score
// of first, the best of them, is not a finite number.
func (s *Sampling) filter(w *scratch, scores []float32, first int) []candidate {
	top := float64(scores[first])
	if !(math.Abs(top) <= math.MaxFloat32) {
		return nil
	}
	w.kept, w.total = w.kept[:0], 0
	for _, token := range s.candidates(w, scores, first) {
		x := (float64(scores[token]) - top) / s.Temperature
		w.kept = append(w.kept, candidate{token: int(token), x: x, p: elementary.Exp(x)})
	}
	if len(w.kept) == 0 {
		return nil
	}
	for i := range filters {
		if f := &filters[i]; f.on(s) {
			f.apply(s, w)
		}
	}
	return w.kept
}

// candidates returns tokens among which are those that the filters keep; none if their
// probabilities overflow. Tokens that cannot remain do not need an exact exponential: w.total is
// the sum of all probabilities where some are left out, best having 1.
func (s *Sampling) candidates(w *scratch, scores []float32, first int) []int32 {
	bounded := func(f filter) bool { return f.least != nil && f.on(s) }
	switch {
	case s.TopK > 0:
		return w.atLeast(scores, w.largest(scores, s.TopK))
	case !slices.ContainsFunc(filters, bounded):
		return w.atLeast(scores, negInf)
	}
	p := w.softmax(scores, s.Temperature)
	best := float64(p[first])
	if !(best > 0) {
		return nil
	}
	all, least := sum32(w, p), float32(0)
	w.total = all / best
	for _, f := range filters {
		if bounded(f) {
			least = max(least, f.least(s, w, p, all, best))
		}
	}
	return w.atLeast(p, least)
}
