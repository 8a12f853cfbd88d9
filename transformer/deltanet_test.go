package transformer_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	tf "github.com/avoformer/avoformer/transformer"
)

// newDeltaNet has random weights.
func newDeltaNet(t *testing.T, alternate bool) *tf.GatedDeltaNet {
	c := tf.GatedDeltaNetConfig{Dim: 10, KeyHeads: 2, ValueHeads: 4, KeyDim: 5, ValueDim: 3, Taps: 3, Eps: 1e-5, Alternate: alternate}
	c.QKV, c.Gate = []tf.Part{{Name: "qkv.", Rows: 2*2*5 + 4*3}}, []tf.Part{{Name: "z.", Rows: 4 * 3}}
	c.Beta, c.Decay = []tf.Part{{Name: "b.", Rows: 4}}, []tf.Part{{Name: "a.", Rows: 4}}
	l := tf.NewLoader(tf.Random(3))
	d := l.GatedDeltaNet(c)
	tftest.NoError(t, l.Finish())
	copy(d.A, []float32{-0.1, -0.5, -1, -3})
	return d
}

// TestGatedDeltaNet compares with the definition, in float64.
func TestGatedDeltaNet(t *testing.T) {
	const rows = 9
	for _, alternate := range []bool{false, true} {
		d := newDeltaNet(t, alternate)
		x, y := tftest.Normal(8, rows*d.Dim), make([]float32, rows*d.Dim)
		tftest.NoError(t, d.Forward(new(tf.Workspace), y, x, tf.Uniform(1, rows), nil))
		if text := tftest.Mismatch(y, deltaNet(d, x), func(int, float64) float64 { return 2e-5 }); text != "" {
			t.Errorf("alternate %v: %s", alternate, text)
		}
	}
}

// deltaNet returns the output of a layer for one sequence, as it is defined.
func deltaNet(d *tf.GatedDeltaNet, x []float32) (out []float32) {
	project := func(l *tf.Linear, row []float64) (y []float64) {
		w := l.Weight()
		for o := range l.Out {
			sum := 0.0
			for i, v := range row {
				sum += float64(w[o*l.In+i]) * v
			}
			y = append(y, sum)
		}
		return y
	}
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	keys, mixed := d.KeyHeads*d.KeyDim, 2*d.KeyHeads*d.KeyDim+d.ValueHeads*d.ValueDim
	state := make([]float64, d.ValueHeads*d.KeyDim*d.ValueDim)
	var qkv [][]float64
	for r := range len(x) / d.Dim {
		var row []float64
		for _, v := range x[r*d.Dim:][:d.Dim] {
			row = append(row, float64(v))
		}
		qkv = append(qkv, project(d.QKV, row))
		gates, z := project(d.Gates, row), project(d.Gate, row)
		u := make([]float64, mixed)
		for i := range u {
			for tap := range d.Taps {
				if at := r - d.Taps + 1 + tap; at >= 0 {
					u[i] += float64(d.Weight[tap*mixed+i]) * qkv[at][i]
				}
			}
			u[i] *= sigmoid(u[i])
		}
		for at := 0; at < 2*keys; at += d.KeyDim {
			squares := 1e-6
			for _, v := range u[at:][:d.KeyDim] {
				squares += v * v
			}
			for i := range d.KeyDim {
				u[at+i] /= math.Sqrt(squares)
			}
		}
		var y []float64
		for h := range d.ValueHeads {
			key := h * d.KeyHeads / d.ValueHeads
			if d.Alternate {
				key = h % d.KeyHeads
			}
			q, k, v := u[key*d.KeyDim:][:d.KeyDim], u[keys+key*d.KeyDim:][:d.KeyDim], u[2*keys+h*d.ValueDim:][:d.ValueDim]
			decay := math.Exp(float64(d.A[h]) * math.Log1p(math.Exp(gates[d.ValueHeads+h]+float64(d.StepBias[h]))))
			s := state[h*d.KeyDim*d.ValueDim:][:d.KeyDim*d.ValueDim]
			read, squares := make([]float64, d.ValueDim), 0.0
			for c := range d.ValueDim {
				had := 0.0
				for i := range d.KeyDim {
					s[i*d.ValueDim+c] *= decay
					had += k[i] * s[i*d.ValueDim+c]
				}
				for i := range d.KeyDim {
					s[i*d.ValueDim+c] += k[i] * sigmoid(gates[h]) * (v[c] - had)
					read[c] += q[i] / math.Sqrt(float64(d.KeyDim)) * s[i*d.ValueDim+c]
				}
				squares += read[c] * read[c]
			}
			for c, v := range read {
				g := z[h*d.ValueDim+c]
				y = append(y, v/math.Sqrt(squares/float64(d.ValueDim)+float64(d.Eps))*float64(d.Norm.Weight[c])*g*sigmoid(g))
			}
		}
		for _, v := range project(d.Out, y) {
			out = append(out, float32(v))
		}
	}
	return out
}

// TestGatedDeltaNetPieces wants the same bits for rows at once, in pieces, one by one, beside other
// sequences, and after rows that were taken back.
func TestGatedDeltaNetPieces(t *testing.T) {
	const rows = 23
	d, ws := newDeltaNet(t, false), &tf.Workspace{Threads: 2}
	dim := d.Dim
	x, whole := tftest.Normal(8, rows*dim), make([]float32, rows*dim)
	tftest.NoError(t, d.Forward(ws, whole, x, tf.Uniform(1, rows), nil))
	pages := tftest.Must(tf.NewPages(tf.PagesConfig{}))(t)
	for _, pieces := range [][]int{{rows}, {1, 1, 1, 20}, {5, 0, 2, 16}, {22, 1}} {
		cache := pages.Cache(2)
		at := 0
		for step, n := range pieces {
			feed := func(n int, proposed bool) []float32 {
				batch := tf.Ragged(step%3, n)
				cache.Use([]*tf.History{cache.History(0), cache.History(1)})
				if proposed {
					cache.Apart(1)
				}
				both, y := append(tftest.Normal(uint64(step), step%3*dim), x[at*dim:(at+n)*dim]...), make([]float32, batch.Rows()*dim)
				tftest.NoError(t, cache.Begin(batch, 1))
				tftest.NoError(t, d.Forward(ws, y, both, batch, cache.Layer(0)))
				cache.End(batch)
				return y[step%3*dim:]
			}
			if more := min(3, rows-at); more > 1 {
				feed(more, true)
				tftest.NoError(t, cache.History(1).Truncate(at+1))
				at++
				n--
			}
			if n = min(max(n, 0), rows-at); !slices.Equal(feed(n, false), whole[at*dim:(at+n)*dim]) {
				t.Fatalf("pieces %v: other bits after row %d", pieces, at)
			}
			at += n
		}
		cache.Release()
	}
	if used := pages.Used(); used != 0 || pages.Peak() < d.StateBytes() {
		t.Errorf("%d bytes are in use after all, %d at most", used, pages.Peak())
	}
}

// TestGatedDeltaNetErrors has sizes that do not fit.
func TestGatedDeltaNetErrors(t *testing.T) {
	d, ws := newDeltaNet(t, false), new(tf.Workspace)
	if err := d.Forward(ws, make([]float32, 20), make([]float32, 19), tf.Uniform(1, 2), nil); !errors.Is(err, fault.ErrShape) {
		t.Errorf("part of a row: %v, want ErrShape", err)
	}
	if err := new(tf.GatedDeltaNet).Forward(ws, nil, nil, tf.Batch{}, nil); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("no projections: %v, want ErrConfig", err)
	}
	for name, change := range map[string]func(*tf.GatedDeltaNet){
		"weight": func(d *tf.GatedDeltaNet) { d.Weight = nil }, "step bias": func(d *tf.GatedDeltaNet) { d.StepBias = nil }, "A": func(d *tf.GatedDeltaNet) { d.A = d.A[1:] },
		"heads": func(d *tf.GatedDeltaNet) { d.ValueHeads *= 2 }, "taps": func(d *tf.GatedDeltaNet) { d.Taps++ }, "key dim": func(d *tf.GatedDeltaNet) { d.KeyDim-- },
		"width of queries": func(d *tf.GatedDeltaNet) {
			d.QKV = tftest.Must(tf.NewLinear(20, d.QKV.Out, make([]float32, 20*d.QKV.Out), nil))(t)
		},
	} {
		edited := *d
		if change(&edited); !errors.Is(edited.Forward(ws, make([]float32, 20), make([]float32, 20), tf.Uniform(1, 2), nil), fault.ErrShape) {
			t.Errorf("another %s: want ErrShape", name)
		}
	}
	claims := d.GatedDeltaNetConfig
	claims.KeyDim = 1 << 25
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l := tf.NewLoader(tf.TensorMap{})
	l.GatedDeltaNet(claims)
	if runtime.ReadMemStats(&after); l.Finish() == nil || after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("a configuration without tensors takes %d bytes", after.TotalAlloc-before.TotalAlloc)
	}
	for name, change := range map[string]func(*tf.GatedDeltaNetConfig){
		"no heads":      func(c *tf.GatedDeltaNetConfig) { c.KeyHeads = 0 },
		"value heads":   func(c *tf.GatedDeltaNetConfig) { c.ValueHeads = 3 },
		"no eps":        func(c *tf.GatedDeltaNetConfig) { c.Eps = 0 },
		"a large state": func(c *tf.GatedDeltaNetConfig) { c.KeyDim = 1 << 27 },
		"many taps":     func(c *tf.GatedDeltaNetConfig) { c.Taps = 1 << 27 },
	} {
		c := d.GatedDeltaNetConfig
		change(&c)
		l := tf.NewLoader(tf.Random(3))
		if l.GatedDeltaNet(c); !errors.Is(l.Finish(), fault.ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, l.Finish())
		}
	}
}
