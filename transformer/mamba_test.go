package transformer_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	tf "github.com/avoformer/avoformer/transformer"
)

// mambaConfig is small, with numbers of everything that differ.
func mambaConfig() tf.Mamba2Config {
	return tf.Mamba2Config{Dim: 6, Heads: 4, HeadDim: 3, Groups: 2, State: 5, Taps: 4, InBias: true, ConvBias: true, OutBias: true, StepMin: 0.1, StepMax: 1.2, Eps: 0.1}
}

// newMamba has random weights.
func newMamba(t *testing.T, c tf.Mamba2Config) *tf.Mamba2 {
	inner, mixed := c.Heads*c.HeadDim, c.Heads*c.HeadDim+2*c.Groups*c.State
	out := inner + mixed + c.Heads
	linear := func(seed uint64, in, out int) *tf.Linear {
		return tftest.Must(tf.NewLinear(in, out, tftest.Normal(seed, in*out), tftest.Normal(seed+1, out)))(t)
	}
	m := &tf.Mamba2{
		Mamba2Config: c, In: linear(1, c.Dim, out), Out: linear(3, inner, c.Dim), Weight: tftest.Normal(5, c.Taps*mixed), Bias: tftest.Normal(6, mixed),
		StepBias: tftest.Normal(7, c.Heads), A: tftest.Normal(8, c.Heads), D: tftest.Normal(9, c.Heads), NormWeight: tftest.Normal(10, inner),
	}
	for i, a := range m.A {
		m.A[i] = -float32(math.Abs(float64(a)))
	}
	return m
}

// scanned returns the block of one sequence, x of [rows, Dim], as it is defined.
func scanned(m *tf.Mamba2, x []float32) []float32 {
	inner, bc := m.Heads*m.HeadDim, m.Groups*m.State
	mixed := inner + 2*bc
	silu := func(v float64) float64 { return v / (1 + math.Exp(-v)) }
	projected := projection(m.In, x)
	var inputs, all []float64 // [rows, mixed], [rows, inner]
	state := make([]float64, inner*m.State)
	for r := range len(x) / m.Dim {
		row := projected[r*m.In.Out:][:m.In.Out]
		z, steps := row[:inner], row[inner+mixed:]
		inputs = append(inputs, row[inner:][:mixed]...)
		u := make([]float64, mixed)
		for i := range u {
			u[i] = float64(m.Bias[i])
			for tap := range m.Taps {
				if at := r - m.Taps + 1 + tap; at >= 0 {
					u[i] += float64(m.Weight[tap*mixed+i]) * inputs[at*mixed+i]
				}
			}
			u[i] = silu(u[i])
		}
		y := make([]float64, inner)
		for i := range y {
			h := i / m.HeadDim
			step := min(max(math.Log1p(math.Exp(steps[h]+float64(m.StepBias[h]))), float64(m.StepMin)), float64(m.StepMax))
			group := h / (m.Heads / m.Groups)
			for n := range m.State {
				s := &state[i*m.State+n]
				*s = *s*math.Exp(step*float64(m.A[h])) + step*u[i]*u[inner+group*m.State+n]
				y[i] += *s * u[inner+bc+group*m.State+n]
			}
			y[i] = (y[i] + float64(m.D[h])*u[i]) * silu(z[i])
		}
		width := inner / m.Groups
		for g := range m.Groups {
			part, sum := y[g*width:][:width], 0.0
			for _, v := range part {
				sum += v * v
			}
			for i := range part {
				part[i] *= float64(m.NormWeight[g*width+i]) / math.Sqrt(sum/float64(width)+float64(m.Eps))
			}
		}
		all = append(all, y...)
	}
	rows := make([]float32, len(all))
	for i, v := range all {
		rows[i] = float32(v)
	}
	var y []float32
	for _, v := range projection(m.Out, rows) {
		y = append(y, float32(v))
	}
	return y
}

// projection returns a linear layer in float64.
func projection(l *tf.Linear, x []float32) (y []float64) {
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

// TestMambaHistories feeds rows of several sequences at a time, takes rows back, forks and releases
// histories in any order. Rows become what the definition says, and have the bits of a pass over
// the whole sequence at once.
func TestMambaHistories(t *testing.T) {
	type sequence struct {
		history *tf.History
		rows    []float32
		back    int // rows that can be taken back
	}
	m := newMamba(t, mambaConfig())
	dim := m.Dim
	pages := tftest.Must(tf.NewPages(tf.PagesConfig{Rows: 4}))(t)
	r, ws := rand.New(rand.NewPCG(7, 2)), new(tf.Workspace)
	all := []*sequence{{history: pages.New()}}
	for range 150 {
		at := r.IntN(len(all))
		q := all[at]
		back := q.history.Len() - r.IntN(q.back+1)
		switch kind := r.IntN(8); {
		case kind < 5:
			var histories []*tf.History
			var lengths []int
			for _, q := range all {
				histories, lengths = append(histories, q.history), append(lengths, r.IntN(6))
			}
			batch, cache := tf.Ragged(lengths...), tf.NewCacheOf(histories...)
			for i, q := range all {
				if lengths[i] > 0 {
					q.back = 0
				}
				if lengths[i] > 0 && r.IntN(2) == 0 {
					cache.Apart(i)
					q.back = lengths[i]
				}
			}
			x := tftest.Normal(r.Uint64(), batch.Rows()*dim)
			y := make([]float32, len(x))
			tftest.NoError(t, cache.Begin(batch, 1))
			tftest.NoError(t, m.Forward(ws, y, x, batch, cache.Layer(0)))
			cache.End(batch)
			for i, q := range all {
				q.rows = append(q.rows, x[batch.Start(i)*dim:batch.Start(i+1)*dim]...)
				got, whole := y[batch.Start(i)*dim:batch.Start(i+1)*dim], make([]float32, len(q.rows))
				tftest.NoError(t, m.Forward(ws, whole, q.rows, tf.Uniform(1, len(q.rows)/dim), nil))
				if !slices.Equal(got, whole[len(whole)-len(got):]) {
					t.Fatalf("%d rows after %d: other bits than all rows at once", lengths[i], q.history.Len()-lengths[i])
				}
				want := scanned(m, q.rows)
				if text := tftest.Mismatch(got, want[len(want)-len(got):], func(int, float64) float64 { return 2e-4 }); text != "" {
					t.Fatalf("%d rows after %d: %s", lengths[i], q.history.Len()-lengths[i], text)
				}
			}
		case kind == 5 && len(all) < 5:
			f := &sequence{tftest.Must(q.history.Fork(back))(t), slices.Clone(q.rows[:back*dim]), q.back - (q.history.Len() - back)}
			all = append(all, f)
		case kind == 6:
			q.back -= q.history.Len() - back
			tftest.NoError(t, q.history.Truncate(back))
			q.rows = q.rows[:back*dim]
		case kind == 7 && len(all) > 1:
			q.history.Release()
			all = slices.Delete(all, at, at+1)
		}
	}
	if want := int64(len(all)) * m.StateBytes(); pages.Used() < want {
		t.Errorf("%d bytes are in use, want at least %d", pages.Used(), want)
	}
	for _, q := range all {
		q.history.Release()
	}
	if used := pages.Used(); used != 0 {
		t.Errorf("%d bytes are in use after all", used)
	}
}

// TestMambaAgain takes back all but one of many rows: the next pass, of one row, computes with more
// rows than it has.
func TestMambaAgain(t *testing.T) {
	m := newMamba(t, mambaConfig())
	const rows, kept = 9, 7
	x, ws := tftest.Normal(12, rows*m.Dim), new(tf.Workspace)
	cache := tftest.Must(tf.NewPages(tf.PagesConfig{}))(t).Cache(1)
	pass := func(rows []float32) []float32 {
		batch, y := tf.Uniform(1, len(rows)/m.Dim), make([]float32, len(rows))
		tftest.NoError(t, cache.Begin(batch, 1))
		tftest.NoError(t, m.Forward(ws, y, rows, batch, cache.Layer(0)))
		cache.End(batch)
		return y
	}
	cache.Apart(0)
	whole := pass(x)
	tftest.NoError(t, cache.History(0).Truncate(kept))
	if got := pass(x[kept*m.Dim:][:m.Dim]); !slices.Equal(got, whole[kept*m.Dim:][:m.Dim]) {
		t.Errorf("after %d of %d rows that were taken back: %v, want %v", rows-kept, rows, got, whole[kept*m.Dim:][:m.Dim])
	}
}

// TestMambaErrors: configurations that make no block, and rows that do not fit.
func TestMambaErrors(t *testing.T) {
	for name, change := range map[string]func(*tf.Mamba2Config){
		"no heads": func(c *tf.Mamba2Config) { c.Heads = 0 }, "no taps": func(c *tf.Mamba2Config) { c.Taps = 0 }, "groups": func(c *tf.Mamba2Config) { c.Groups = 3 },
		"steps": func(c *tf.Mamba2Config) { c.StepMin = 2 }, "scales": func(c *tf.Mamba2Config) { c.Scales = make([]float32, 4) },
		"state": func(c *tf.Mamba2Config) { c.State = math.MaxInt32 }, "convolution": func(c *tf.Mamba2Config) { c.Taps = math.MaxInt32 }, "eps": func(c *tf.Mamba2Config) { c.Eps = -1 },
	} {
		c := mambaConfig()
		change(&c)
		l := tf.NewLoader(tf.TensorMap{})
		if l.Mamba2(c); !errors.Is(l.Finish(), fault.ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, l.Finish())
		}
	}
	m, ws, x := newMamba(t, mambaConfig()), new(tf.Workspace), make([]float32, 12)
	if err := m.Forward(ws, x, x[:6], tf.Uniform(1, 2), nil); !errors.Is(err, fault.ErrShape) {
		t.Errorf("too few rows: %v", err)
	}
	if err := new(tf.Mamba2).Forward(ws, x, x, tf.Uniform(1, 2), nil); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("no projections: %v", err)
	}
	for name, change := range map[string]func(*tf.Mamba2){
		"weight": func(m *tf.Mamba2) { m.Weight = nil }, "bias": func(m *tf.Mamba2) { m.Bias = m.Bias[1:] }, "step bias": func(m *tf.Mamba2) { m.StepBias = nil },
		"A": func(m *tf.Mamba2) { m.A = nil }, "D": func(m *tf.Mamba2) { m.D = append(m.D, 1) }, "norm weight": func(m *tf.Mamba2) { m.NormWeight = nil },
	} {
		edited := *m
		if change(&edited); !errors.Is(edited.Forward(ws, x, x, tf.Uniform(1, 2), nil), fault.ErrShape) {
			t.Errorf("another %s: %v, want ErrShape", name, edited.Forward(ws, x, x, tf.Uniform(1, 2), nil))
		}
	}
	edited := *m
	if edited.Groups = 0; !errors.Is(edited.Forward(ws, x, x, tf.Uniform(1, 2), nil), fault.ErrConfig) {
		t.Error("no groups: want ErrConfig")
	}
	if err := m.Forward(nil, x, x, tf.Uniform(1, 2), nil); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("no workspace: %v", err)
	}
}
