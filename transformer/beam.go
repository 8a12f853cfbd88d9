package transformer

import (
	"cmp"
	"context"
	"math"
	"slices"
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
	Hypothesis
	sequence int // of the decoder, before reordering
}

// Beam searches for the tokens that follow prompt with the best score, and
// returns up to Width hypotheses, the best first. It is exhaustive if Width is
// no less than the number of hypotheses that there are at any step. It ends
// early once no hypothesis can get better than those that are complete, or with
// the error of ctx within one token of its cancellation.
func Beam(ctx context.Context, d Decoder, prompt []int, c BeamConfig) ([]Hypothesis, error) {
	if err := positive("beam search", size{"width", c.Width}, size{"max tokens", c.MaxTokens}); err != nil {
		return nil, err
	}
	if len(prompt) == 0 {
		return nil, errorf(ErrShape, "beam search without prompt")
	}
	if !(c.LengthPenalty >= 0) {
		return nil, errorf(ErrConfig, "beam search: length penalty %g", c.LengthPenalty)
	}
	vocab := d.Vocab()
	feed, parents := make([][]int, c.Width), make([]int, c.Width)
	feed[0] = prompt // the others start as its copies
	live := []beam{{}}
	var complete []Hypothesis
	var next []beam
	for step := 1; len(live) > 0; step++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		logits, err := d.Feed(feed)
		if err != nil {
			return nil, err
		}
		if len(logits) != c.Width*vocab {
			return nil, errorf(ErrShape, "beam search of width %d with a decoder of %d sequences", c.Width, len(logits)/max(vocab, 1))
		}
		// All continuations, of which the best are kept.
		next = next[:0]
		for i, b := range live {
			row := logits[i*vocab : (i+1)*vocab]
			norm := logSumExp(row)
			for token, l := range row {
				n := beam{Hypothesis{LogProb: b.LogProb + float64(l) - norm}, i}
				if slices.Contains(c.Stop, token) {
					n.Tokens, n.Stopped = b.Tokens, true
					n.Score = c.score(n.LogProb, step)
					complete = append(complete, n.Hypothesis)
					continue
				}
				n.Tokens = []int{token} // for now: most are dropped
				next = append(next, n)
			}
		}
		slices.SortStableFunc(next, func(a, b beam) int { return cmp.Compare(b.LogProb, a.LogProb) })
		next = next[:min(len(next), c.Width)]
		for i := range next {
			n := &next[i]
			n.Tokens = append(slices.Clip(slices.Clone(live[n.sequence].Tokens)), n.Tokens...)
			n.Score = c.score(n.LogProb, step)
		}
		best := func(a, b Hypothesis) int { return cmp.Compare(b.Score, a.Score) }
		if step == c.MaxTokens {
			for _, n := range next {
				complete = append(complete, n.Hypothesis)
			}
			next = next[:0]
		}
		slices.SortStableFunc(complete, best)
		complete = complete[:min(len(complete), c.Width)]
		live = append(live[:0], next...)
		// The best that a live hypothesis can still reach is to lose nothing.
		if len(complete) == c.Width && len(live) > 0 && complete[c.Width-1].Score >= c.score(live[0].LogProb, c.MaxTokens) {
			break
		}
		for i := range parents {
			parents[i], feed[i] = i, nil
			if i < len(live) {
				parents[i], feed[i] = live[i].sequence, live[i].Tokens[step-1:]
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
