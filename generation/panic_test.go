package generation_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
)

// panics is a constraint that allows everything, and panics where it is told to.
type panics struct {
	at     string
	tokens int
	after  int // tokens
}

var errPanics = errors.New("a caller's mistake")

func (p *panics) reach(place string) {
	if place == p.at && p.tokens >= p.after {
		panic(errPanics)
	}
}

func (p *panics) Apply([]float32) error       { p.reach("Apply"); return nil }
func (p *panics) Accept(int) error            { p.tokens++; p.reach("Accept"); return nil }
func (p *panics) Undo(n int) error            { p.tokens -= n; p.reach("Undo"); return nil }
func (p *panics) Forced() (token int, _ bool) { p.reach("Forced"); return 0, false }
func (p *panics) Propose(dst []int, _ int) []int {
	p.reach("Propose")
	return dst
}

// TestPanics: a request whose hook, constraint or StopWhen panics ends with the panic's value, and
// the texts beside it and after it are what they are alone.
func TestPanics(t *testing.T) {
	m := long(t, "")
	for _, place := range []string{"Hook", "StopWhen", "Apply", "Accept", "Undo", "Forced", "Propose", "Apply of a draft"} {
		t.Run(place, bubble(func(t *testing.T) {
			c := generation.SchedulerConfig{Model: m.LM}
			draft := place == "Undo" || place == "Apply of a draft"
			if draft {
				c.DraftModel = m.LM
			}
			s := schedule(t, c)
			if draft {
				s.Guess()
			}
			all := prompts(rand.New(rand.NewPCG(31, 32)), 3, 5, 40)
			want := make([][]int, len(all))
			for i, p := range all {
				want[i] = alone(t, m, p, generation.SamplerConfig{}, 30)
			}
			gate := hold(t, s)
			var wg sync.WaitGroup
			for i, p := range all {
				wg.Go(func() {
					tokens, end, err := collect(context.Background(), s, generation.Request{Prompt: p, Limits: generation.Limits{MaxTokens: 30}})
					if err != nil || end.Err != nil || !slices.Equal(tokens, want[i]) {
						t.Errorf("beside it: %v, %v, %v, want %v", tokens, end.Err, err, want[i])
					}
				})
			}
			const after = 4
			bad := generation.SamplerConfig{Vocab: 50, Prompt: all[0]}
			limits := generation.Limits{MaxTokens: 30}
			switch place {
			case "Hook":
				bad.Hook = func(_ []float32, tokens []int) {
					if len(tokens) == len(all[0])+after {
						panic(errPanics)
					}
				}
			case "StopWhen":
				limits.StopWhen = func(tokens []int) bool {
					if len(tokens) == after {
						panic(errPanics)
					}
					return false
				}
			default:
				bad.Constraint = &panics{at: strings.TrimSuffix(place, " of a draft"), after: after}
			}
			wg.Go(func() {
				tokens, end, err := collect(context.Background(), s, generation.Request{Prompt: all[0], Limits: limits, Sampler: tftest.Must(generation.NewSampler(bad))(t)})
				var p *generation.PanicError
				if err != nil || end.Finish != generation.FinishFailed || !errors.As(end.Err, &p) || p.Value != any(errPanics) || !errors.Is(end.Err, errPanics) ||
					!strings.Contains(end.Err.Error(), errPanics.Error()) || len(p.Stack) == 0 {
					t.Errorf("%v, %v, %v, want the panic", end.Finish, end.Err, err)
				}
				if len(tokens) == len(want[0]) || !slices.Equal(tokens, want[0][:len(tokens)]) {
					t.Errorf("tokens before it: %v, want some of %v", tokens, want[0])
				}
			})
			gate.Wait()
			wg.Wait()
			if tokens, end, err := collect(t.Context(), s, generation.Request{Prompt: all[0], Limits: generation.Limits{MaxTokens: 30}}); err != nil || end.Err != nil || !slices.Equal(tokens, want[0]) {
				t.Errorf("after it: %v, %v, %v, want %v", tokens, end.Err, err, want[0])
			}
		}))
	}
}
