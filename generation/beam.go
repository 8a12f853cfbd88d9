package generation

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
)

// BeamConfig describes a beam search.
type BeamConfig struct {
	Width     int   // hypotheses kept at each step: the decoder's sequences
	MaxTokens int   // the most tokens of a hypothesis
	Stop      []int // tokens that complete a hypothesis, not part of it
	// LengthPenalty divides the log probability by the number of tokens, stop token included, to
	// this power: 0 compares probabilities, 1 means per token, and negative powers favour short
	// hypotheses.
	LengthPenalty float64
	EarlyStopping EarlyStopping
	Rules         *Rules // may be nil
}

// EarlyStopping decides when a search with Width complete hypotheses ends.
type EarlyStopping int

const (
	// EarlyNever: once no unfinished hypothesis can become better than these, however long it gets.
	EarlyNever EarlyStopping = iota
	// EarlyLikely: once no unfinished hypothesis would be better if it ended now. This is
	// early_stopping = false of transformers.
	EarlyLikely
	// EarlyAlways: at once.
	EarlyAlways
)

// A Hypothesis is a result of beam search.
type Hypothesis struct {
	Tokens  []int
	LogProb float64 // of the tokens and, if Stopped, the stop token
	Score   float64 // LogProb after the length penalty: larger is better
	Stopped bool    // else it ended at MaxTokens
}

// beam is a hypothesis that is being extended.
type beam struct {
	tokens   []int
	logProb  float64
	sequence int // of the decoder, before reordering
	token    int // the last, before it is among tokens
}

// search is a beam search at work.
type search struct {
	BeamConfig
	rules  *ruled    // nil: none; their text is that of the beam that they were last for
	scores []float32 // of a beam, changed by rules
}

// Beam searches for the tokens that follow prompt with the best score, and returns up to Width
// hypotheses, the best first. In each step, the Width best continuations that do not end are
// extended further; a continuation that ends is complete if it is among the Width best of all. The
// search is exhaustive if Width is at least the number of hypotheses at every step. It ends with
// the error of ctx within one token of its cancellation.
func Beam(ctx context.Context, d Decoder, prompt []int, c BeamConfig) ([]Hypothesis, error) {
	if c.Width < 1 || c.MaxTokens < 1 {
		return nil, check.Errorf(fault.ErrConfig, "beam search: width %d, max tokens %d, want at least 1", c.Width, c.MaxTokens)
	}
	if len(prompt) == 0 {
		return nil, check.Errorf(fault.ErrShape, "beam search without prompt")
	}
	if p := c.LengthPenalty; p != p || math.IsInf(p, 0) {
		return nil, check.Errorf(fault.ErrConfig, "beam search: length penalty %g", c.LengthPenalty)
	}
	if err := undecodable(d); err != nil {
		return nil, err
	}
	vocab := d.Vocab()
	if err := c.Rules.check(vocab); err != nil {
		return nil, err
	}
	feed, parents := make([][]int, c.Width), make([]int, c.Width)
	feed[0] = prompt // the others start as its copies
	search := &search{BeamConfig: c, rules: c.Rules.on(prompt, c.MaxTokens)}
	live := []beam{{}}
	var complete []Hypothesis
	for step := 1; len(live) > 0; step++ {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		logits, err := d.Feed(feed)
		if err != nil {
			return nil, err
		}
		if len(logits) != c.Width*vocab {
			return nil, check.Errorf(fault.ErrShape, "beam search of width %d with a decoder of %d sequences", c.Width, len(logits)/max(vocab, 1))
		}
		if err := c.Rules.usable(logits[:len(live)*vocab]); err != nil {
			return nil, err
		}
		var ended []Hypothesis
		live, ended = search.extend(live, logits, step)
		complete = append(complete, ended...)
		slices.SortStableFunc(complete, func(a, b Hypothesis) int { return cmp.Compare(b.Score, a.Score) })
		complete = complete[:min(len(complete), c.Width)]
		if len(complete) == c.Width && len(live) > 0 && search.enough(complete[c.Width-1].Score, live[0].logProb, step) {
			break
		}
		for i := range parents {
			parents[i], feed[i] = i, nil
			if i < len(live) {
				parents[i], feed[i] = live[i].sequence, live[i].tokens[step-1:]
			}
		}
		if len(live) > 0 {
			if err := d.Reorder(parents); err != nil {
				return nil, err
			}
		}
	}
	return complete, nil
}

// extend returns which continuations of a step are extended further and which end. logits are at
// least [live, V].
func (c *search) extend(live []beam, logits []float32, step int) (extended []beam, ended []Hypothesis) {
	vocab := len(logits) / c.Width
	// Enough to leave Width unfinished continuations, however many end.
	next := best[beam]{k: (1 + max(1, len(c.Stop))) * c.Width, order: func(a, b beam) int { return cmp.Compare(b.logProb, a.logProb) }}
	for i, b := range live {
		row := logits[i*vocab : (i+1)*vocab]
		norm := logSumExp(row)
		if c.rules != nil {
			c.scores = append(c.scores[:0], row...)
			for token := range c.scores {
				c.scores[token] -= float32(norm)
			}
			c.rules.text.become(b.tokens)
			c.rules.apply(c.scores)
			row, norm = c.scores, 0
		}
		for token, l := range row {
			next.offer(beam{tokens: b.tokens, logProb: b.logProb + float64(l) - norm, sequence: i, token: token})
		}
	}
	for rank, n := range next.sorted() {
		stop := slices.Contains(c.Stop, n.token)
		if !stop {
			n.tokens = append(slices.Clip(n.tokens), n.token)
		}
		switch {
		case stop || step == c.MaxTokens:
			if rank < c.Width {
				ended = append(ended, c.hypothesis(n, step, stop))
			}
		case len(extended) < c.Width:
			extended = append(extended, n)
		}
	}
	return extended, ended
}

// enough reports whether the search ends, given the worst score of Width complete hypotheses and
// the best log probability of the unfinished ones.
func (c *search) enough(worst, logProb float64, step int) bool {
	if c.EarlyStopping == EarlyAlways {
		return true
	}
	if c.EarlyStopping == EarlyNever && c.LengthPenalty > 0 {
		step = c.MaxTokens // the best that one can still reach is to lose nothing
	}
	return !(c.score(logProb, step) > worst)
}

func (c BeamConfig) hypothesis(b beam, tokens int, stopped bool) Hypothesis {
	return Hypothesis{Tokens: b.tokens, LogProb: b.logProb, Score: c.score(b.logProb, tokens), Stopped: stopped}
}

func (c BeamConfig) score(logProb float64, tokens int) float64 {
	return logProb / elementary.Pow(float64(tokens), c.LengthPenalty)
}
