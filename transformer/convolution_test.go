package transformer_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	tf "github.com/avoformer/avoformer/transformer"
)

// newConvolution has random weights.
func newConvolution(t *testing.T, dim, taps int) *tf.ShortConvolution {
	linear := func(seed uint64, in, out int) *tf.Linear {
		return tftest.Must(tf.NewLinear(in, out, tftest.Normal(seed, in*out), tftest.Normal(seed+1, out)))(t)
	}
	return &tf.ShortConvolution{In: linear(1, dim, 3*dim), Out: linear(3, dim, dim), Weight: tftest.Normal(5, taps*dim), Bias: tftest.Normal(6, dim)}
}

// convolved returns the convolution of one sequence, x of [rows, dim], as it is defined.
func convolved(c *tf.ShortConvolution, x []float32) []float32 {
	dim := c.In.In
	project := func(l *tf.Linear, x []float32) (y []float64) {
		w := l.Weight()
		for r := range len(x) / l.In {
			for o := range l.Out {
				sum := float64(l.Bias[o])
				for i := range l.In {
					sum += float64(w[o*l.In+i]) * float64(x[r*l.In+i])
				}
				y = append(y, sum)
			}
		}
		return y
	}
	bcx := project(c.In, x)
	gated := make([]float32, len(x))
	taps := len(c.Weight) / dim
	for r := range len(x) / dim {
		for d := range dim {
			sum := float64(c.Bias[d])
			for tap := range taps {
				if row := r - taps + 1 + tap; row >= 0 {
					sum += float64(c.Weight[tap*dim+d]) * bcx[row*3*dim+d] * bcx[row*3*dim+2*dim+d]
				}
			}
			gated[r*dim+d] = float32(sum * bcx[r*3*dim+dim+d])
		}
	}
	var y []float32
	for _, v := range project(c.Out, gated) {
		y = append(y, float32(v))
	}
	return y
}

// TestConvolutionHistories feeds rows of several sequences at a time, forks, truncates and releases
// histories in any order, and compares what rows become with the definition.
func TestConvolutionHistories(t *testing.T) {
	const dim = 6
	type sequence struct {
		history *tf.History
		rows    []float32
	}
	for _, taps := range []int{1, 2, 3, 7} {
		c := newConvolution(t, dim, taps)
		// Inputs stay in float32 whatever keys are held in.
		pages := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: 4, Windows: []int{taps}, Format: kernels.FormatInt8}))(t)
		r, ws := rand.New(rand.NewPCG(31, uint64(taps))), new(tf.Workspace)
		all := []*sequence{{history: pages.New()}}
		for range 300 {
			at := r.IntN(len(all))
			q := all[at]
			back := max(0, q.history.Len()-r.IntN(5)) // a page's rows can be taken back
			switch kind := r.IntN(8); {
			case kind < 5:
				var histories []*tf.History
				var lengths []int
				for _, q := range all {
					histories, lengths = append(histories, q.history), append(lengths, r.IntN(6))
				}
				batch := tf.Ragged(lengths...)
				x := tftest.Normal(r.Uint64(), batch.Rows()*dim)
				y, cache := make([]float32, len(x)), tf.NewCacheOf(histories...)
				tftest.NoError(t, cache.Begin(batch, 1))
				tftest.NoError(t, c.Forward(ws, y, x, batch, cache.Layer(0)))
				cache.End(batch)
				for i, q := range all {
					q.rows = append(q.rows, x[batch.Start(i)*dim:batch.Start(i+1)*dim]...)
					want := convolved(c, q.rows)
					want = want[len(want)-lengths[i]*dim:]
					if text := tftest.Mismatch(y[batch.Start(i)*dim:batch.Start(i+1)*dim], want, func(int, float64) float64 { return 5e-3 }); text != "" {
						t.Fatalf("%d taps, %d rows after %d: %s", taps, lengths[i], q.history.Len()-lengths[i], text)
					}
				}
			case kind == 5 && len(all) < 6:
				all = append(all, &sequence{tftest.Must(q.history.Fork(back))(t), slices.Clone(q.rows[:back*dim])})
			case kind == 6:
				tftest.NoError(t, q.history.Truncate(back))
				q.rows = q.rows[:back*dim]
			case kind == 7 && len(all) > 1:
				q.history.Release()
				all = slices.Delete(all, at, at+1)
			}
		}
		for _, q := range all {
			q.history.Release()
		}
		if used := pages.Used(); used != 0 || pages.Peak() == 0 {
			t.Errorf("%d bytes are in use after all, %d at most", used, pages.Peak())
		}
	}
}

// TestConvolutionErrors: sizes that do not fit, and a cache that has forgotten rows that are
// needed.
func TestConvolutionErrors(t *testing.T) {
	const dim = 6
	c, ws, x := newConvolution(t, dim, 5), new(tf.Workspace), make([]float32, 10*dim)
	if err := c.Forward(ws, x, x[:dim], tf.Uniform(1, 10), nil); !errors.Is(err, fault.ErrShape) {
		t.Errorf("too few rows: %v", err)
	}
	if err := (&tf.ShortConvolution{}).Forward(ws, x, x, tf.Uniform(1, 10), nil); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("no projections: %v", err)
	}
	short := *c
	short.Weight = c.Weight[:dim+1]
	if err := short.Forward(ws, x, x, tf.Uniform(1, 10), nil); !errors.Is(err, fault.ErrShape) {
		t.Errorf("part of a tap: %v", err)
	}
	cache := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: 1, Windows: []int{2}}))(t).Cache(1)
	var err error
	for range 8 {
		tftest.NoError(t, cache.Begin(tf.Uniform(1, 1), 1))
		if err = c.Forward(ws, x[:dim], x[:dim], tf.Uniform(1, 1), cache.Layer(0)); err != nil {
			break
		}
		cache.End(tf.Uniform(1, 1))
	}
	if !errors.Is(err, fault.ErrShape) {
		t.Errorf("a window of 2 rows for 5 taps: %v, want ErrShape", err)
	}
	if cache.Values(0, 0) != nil {
		t.Error("a convolution has values")
	}
}
