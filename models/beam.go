package models

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/avoformer/avoformer/transformer"
)

// BeamConfig describes a beam search.
type BeamConfig struct {
	Width     int   // hypotheses kept at each step: the decoder's sequences
	MaxTokens int   // the most tokens of a hypothesis
	Stop      []int // tokens that complete a hypothesis, not part of it
	// LengthPenalty divides the log probability by the number of tokens, stop
	// token included, to this power: 0 compares probabilities, 1 means per token.
	LengthPenalty float64
}

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

// Beam searches for the tokens that follow prompt with the best score, and
// returns up to Width hypotheses, the best first. It is exhaustive if Width is
// no less than the number of hypotheses that there are at any step. It ends
// early once no hypothesis can get better than those that are complete, or with
// the error of ctx within one token of its cancellation.
func Beam(ctx context.Context, d Decoder, prompt []int, c BeamConfig) ([]Hypothesis, error) {
	if c.Width < 1 || c.MaxTokens < 1 {
		return nil, errorf(transformer.ErrConfig, "beam search: width %d, max tokens %d, want at least 1", c.Width, c.MaxTokens)
	}
	if len(prompt) == 0 {
		return nil, errorf(transformer.ErrShape, "beam search without prompt")
	}
	if !(c.LengthPenalty >= 0) {
		return nil, errorf(transformer.ErrConfig, "beam search: length penalty %g", c.LengthPenalty)
	}
	vocab := d.Vocab()
	feed, parents := make([][]int, c.Width), make([]int, c.Width)
	feed[0] = prompt // the others start as its copies
	live := []beam{{}}
	var complete []Hypothesis
	for step := 1; len(live) > 0; step++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		logits, err := d.Feed(feed)
		if err != nil {
			return nil, err
		}
		if len(logits) != c.Width*vocab {
			return nil, errorf(transformer.ErrShape, "beam search of width %d with a decoder of %d sequences", c.Width, len(logits)/max(vocab, 1))
		}
		// All continuations, of which the best are kept.
		next := best[beam]{k: c.Width, order: func(a, b beam) int { return cmp.Compare(b.logProb, a.logProb) }}
		for i, b := range live {
			row := logits[i*vocab : (i+1)*vocab]
			norm := logSumExp(row)
			for token, l := range row {
				n := beam{tokens: b.tokens, logProb: b.logProb + float64(l) - norm, sequence: i, token: token}
				if slices.Contains(c.Stop, token) {
					complete = append(complete, c.hypothesis(n, step, true))
				} else {
					next.offer(n)
				}
			}
		}
		extended := next.sorted()
		for i := range extended {
			n := &extended[i]
			n.tokens = append(slices.Clip(n.tokens), n.token)
		}
		if step == c.MaxTokens {
			for _, n := range extended {
				complete = append(complete, c.hypothesis(n, step, false))
			}
			extended = nil
		}
		slices.SortStableFunc(complete, func(a, b Hypothesis) int { return cmp.Compare(b.Score, a.Score) })
		complete = complete[:min(len(complete), c.Width)]
		live = extended
		// The best that a live hypothesis can still reach is to lose nothing.
		if len(complete) == c.Width && len(live) > 0 && complete[c.Width-1].Score >= c.score(live[0].logProb, c.MaxTokens) {
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

func (c BeamConfig) hypothesis(b beam, tokens int, stopped bool) Hypothesis {
	return Hypothesis{Tokens: b.tokens, LogProb: b.logProb, Score: c.score(b.logProb, tokens), Stopped: stopped}
}

func (c BeamConfig) score(logProb float64, tokens int) float64 {
	return logProb / math.Pow(float64(tokens), c.LengthPenalty)
}

func logSumExp(x []float32) float64 {
	top := float64(slices.Max(x))
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v) - top)
	}
	return top + math.Log(sum)
}
