package generation_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

func logSoftmax(x []float32) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v))
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v) - math.Log(sum)
	}
	return y
}

// exhaustive lists all hypotheses by full passes, without cache, best first.
func exhaustive(t *testing.T, m *models.Model, prompt []int, c generation.BeamConfig) []generation.Hypothesis {
	var all []generation.Hypothesis
	var extend func(tokens []int, logProb float64)
	extend = func(tokens []int, logProb float64) {
		seq := append(slices.Clone(prompt), tokens...)
		logits := make([]float32, len(seq)*m.Config.Vocab)
		tftest.NoError(t, m.Logits(new(tf.Workspace), logits, seq, tf.Uniform(1, len(seq)), nil, nil))
		for token, lp := range logSoftmax(logits[len(logits)-m.Config.Vocab:]) {
			h := generation.Hypothesis{Tokens: tokens, LogProb: logProb + lp, Stopped: slices.Contains(c.Stop, token)}
			h.Score = h.LogProb / math.Pow(float64(len(tokens)+1), c.LengthPenalty)
			switch {
			case h.Stopped:
				all = append(all, h)
			default:
				h.Tokens = append(slices.Clone(tokens), token)
				if len(h.Tokens) == c.MaxTokens {
					all = append(all, h)
				} else {
					extend(h.Tokens, h.LogProb)
				}
			}
		}
	}
	extend(nil, 0)
	slices.SortStableFunc(all, func(a, b generation.Hypothesis) int { return cmp.Compare(b.Score, a.Score) })
	return all
}

func TestBeamEqualsExhaustiveSearch(t *testing.T) {
	const vocab = 4
	m := tiny(t, vocab)
	for _, penalty := range []float64{-1, 0, 0.7, 1, 2} {
		for _, stop := range [][]int{nil, {2}, {0, 3}} {
			for maxTokens := 1; maxTokens <= 4; maxTokens++ {
				c := generation.BeamConfig{Width: 256, MaxTokens: maxTokens, Stop: stop, LengthPenalty: penalty}
				want := exhaustive(t, m, []int{1, 3}, c)
				got := tftest.Must(generation.Beam(t.Context(), generation.Start(new(tf.Workspace), m, c.Width), []int{1, 3}, c))(t)
				name := fmt.Sprintf("penalty %g, stop %v, %d tokens", penalty, stop, maxTokens)
				if len(got) != len(want) {
					t.Errorf("%s: %d hypotheses, want %d", name, len(got), len(want))
					continue
				}
				for i, w := range want {
					g := got[i]
					scale := math.Abs(w.Score / w.LogProb) // the power of the length
					if !(math.Abs(g.Score-w.Score) <= 1e-4*scale && math.Abs(g.LogProb-w.LogProb) <= 1e-4) {
						t.Errorf("%s: hypothesis %d is %+v, want %+v", name, i, g, w)
					}
				}
				if !slices.Equal(got[0].Tokens, want[0].Tokens) || got[0].Stopped != want[0].Stopped {
					t.Errorf("%s: best is %+v, want %+v", name, got[0], want[0])
				}
			}
		}
	}
}

// TestBeamWidths: width 1 is greedy, and wider is no worse on what this model was seen to do; the
// probabilities of all hypotheses are those that the model gives their tokens.
func TestBeamWidths(t *testing.T) {
	m := tiny(t, 7)
	best := math.Inf(-1)
	for _, width := range []int{1, 2, 3, 8} {
		c := generation.BeamConfig{Width: width, MaxTokens: 8, Stop: []int{5}}
		got := tftest.Must(generation.Beam(t.Context(), generation.Start(new(tf.Workspace), m, width), []int{1}, c))(t)
		if len(got) == 0 || len(got) > width {
			t.Fatalf("width %d: %d hypotheses", width, len(got))
		}
		for _, h := range got {
			seq := append([]int{1}, h.Tokens...)
			if h.Stopped {
				seq = append(seq, 5)
			}
			logits := make([]float32, len(seq)*m.Config.Vocab)
			tftest.NoError(t, m.Logits(new(tf.Workspace), logits, seq, tf.Uniform(1, len(seq)), nil, nil))
			sum := 0.0
			for i, token := range seq[1:] {
				sum += logSoftmax(logits[i*m.Config.Vocab : (i+1)*m.Config.Vocab])[token]
			}
			if !(math.Abs(sum-h.LogProb) <= 1e-3) {
				t.Errorf("width %d: %v has log probability %v, the model says %v", width, h.Tokens, h.LogProb, sum)
			}
		}
		if width == 1 {
			greedy := tftest.Must(generation.Collect(generation.Generate(t.Context(), generation.Start(new(tf.Workspace), m, 1), []int{1}, generation.SamplerConfig{}, generation.Limits{MaxTokens: 8, Stop: []int{5}})))(t)
			if !slices.Equal(greedy, got[0].Tokens) {
				t.Errorf("beam of width 1 gives %v, greedy decoding %v", got[0].Tokens, greedy)
			}
		}
		if got[0].Score < best-1e-4 {
			t.Errorf("width %d finds %v, a narrower one found %v", width, got[0].Score, best)
		}
		best = got[0].Score
	}
}

// hesitant stops at once with a probability of 0.6, and otherwise never stops.
type hesitant struct{ step int }

func (*hesitant) Vocab() int { return 2 }

func (*hesitant) Reorder([]int) error { return nil }

func (h *hesitant) Feed([][]int) ([]float32, error) {
	if h.step++; h.step == 1 {
		return []float32{float32(math.Log(0.6)), float32(math.Log(0.4))}, nil
	}
	return []float32{-50, 0}, nil
}

// TestBeamWaits has a hypothesis that is the worse one for as long as it is short.
func TestBeamWaits(t *testing.T) {
	found := tftest.Must(generation.Beam(t.Context(), new(hesitant), []int{0}, generation.BeamConfig{Width: 1, MaxTokens: 4, Stop: []int{0}, LengthPenalty: 1}))(t)
	if len(found) != 1 || !slices.Equal(found[0].Tokens, []int{1, 1, 1, 1}) {
		t.Errorf("%+v, want four tokens", found)
	}
	found = tftest.Must(generation.Beam(t.Context(), new(hesitant), []int{0}, generation.BeamConfig{Width: 1, MaxTokens: 4, Stop: []int{0}, LengthPenalty: 1, EarlyStopping: generation.EarlyLikely}))(t)
	if len(found) != 1 || len(found[0].Tokens) != 0 || !found[0].Stopped {
		t.Errorf("%+v, want no token", found)
	}
}

// scripted gives the logits of one step after the other.
type scripted struct {
	vocab int
	steps [][]float32
}

func (s *scripted) Vocab() int { return s.vocab }

func (*scripted) Reorder([]int) error { return nil }

func (s *scripted) Feed([][]int) ([]float32, error) {
	logits := s.steps[0]
	s.steps = s.steps[1:]
	return logits, nil
}

// TestBeamShort has two complete hypotheses of which one is worse than what goes on can get, though
// not at MaxTokens, with a penalty for length.
func TestBeamShort(t *testing.T) {
	const no = -50
	first := []float32{float32(math.Log(0.4)), float32(math.Log(0.55)), float32(math.Log(0.05))}
	d := &scripted{vocab: 3, steps: [][]float32{append(first, no, no, no), {no, 0, no, 0, no, no}, {0, no, no, 0, no, no}, make([]float32, 6)}}
	found := tftest.Must(generation.Beam(t.Context(), d, []int{1}, generation.BeamConfig{Width: 2, MaxTokens: 20, Stop: []int{0}, LengthPenalty: -1}))(t)
	if len(found) != 2 || len(found[0].Tokens) != 0 || !slices.Equal(found[1].Tokens, []int{1, 1}) || !(math.Abs(found[1].Score-3*math.Log(0.55)) <= 1e-6) {
		t.Errorf("%+v, want no token and two", found)
	}
}

// TestBeamSorts compares Beam with sorting all continuations at each step.
func TestBeamSorts(t *testing.T) {
	for _, width := range []int{1, 2, 3, 7, 20} {
		const vocab, steps = 30, 6
		found := tftest.Must(generation.Beam(t.Context(), &drawn{rand: rand.New(rand.NewPCG(3, 4)), vocab: vocab}, []int{0}, generation.BeamConfig{Width: width, MaxTokens: steps}))(t)
		d := &drawn{rand: rand.New(rand.NewPCG(3, 4)), vocab: vocab}
		live := []generation.Hypothesis{{}}
		for range steps {
			logits := tftest.Must(d.Feed(make([][]int, width)))(t)
			var all []generation.Hypothesis
			for i, h := range live {
				for token, l := range logSoftmax(logits[i*vocab:][:vocab]) {
					all = append(all, generation.Hypothesis{Tokens: append(slices.Clone(h.Tokens), token), LogProb: h.LogProb + l})
				}
			}
			slices.SortStableFunc(all, func(a, b generation.Hypothesis) int {
				if math.Abs(a.LogProb-b.LogProb) <= 1e-9 { // equal except for rounding
					return 0
				}
				return cmp.Compare(b.LogProb, a.LogProb)
			})
			live = all[:min(width, len(all))]
		}
		for i, h := range found {
			if !slices.Equal(h.Tokens, live[i].Tokens) || !(math.Abs(h.LogProb-live[i].LogProb) <= 1e-9) {
				t.Fatalf("width %d: hypothesis %d is %v, %v, want %v, %v", width, i, h.Tokens, h.LogProb, live[i].Tokens, live[i].LogProb)
			}
		}
		if len(found) != len(live) {
			t.Errorf("width %d: %d hypotheses, want %d", width, len(found), len(live))
		}
	}
}
