package transformer_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

var mixtureNames = tf.MixtureNames{Router: "router.", Correction: "correction", Each: "experts.%d.", Expert: tf.FeedForwardNames{Gate: "gate.", Up: "up.", Down: "down."}}

// mixtureOf returns the value of a mixture at a row whose experts the row scored picks, from its
// definition in float64. Experts with gates have SiLU, plain ones ReLU2.
func mixtureOf(c tf.MixtureConfig, w tf.Weights, x, scored []float32) []float64 {
	times := func(name string, rows int, x []float64, bias bool) []float64 {
		m, _ := w.Tensor(name+"weight", rows, len(x))
		y := make([]float64, rows)
		for i := range y {
			for j, v := range x {
				y[i] += float64(m[i*len(x)+j]) * v
			}
		}
		if bias {
			b, _ := w.Tensor(name+"bias", rows)
			for i := range y {
				y[i] += float64(b[i])
			}
		}
		return y
	}
	wide, by := make([]float64, len(x)), make([]float64, len(scored))
	for i, v := range x {
		wide[i] = float64(v)
	}
	for i, v := range scored {
		by[i] = float64(v)
	}
	scores := times("router.", c.Experts, by, c.RouterBias)
	order, weight := picked(c, w, scores)
	out := make([]float64, c.Dim)
	for _, e := range order[:c.TopK] {
		name := fmt.Sprintf("experts.%d.", e)
		up := times(name+"up.", c.Hidden, wide, c.Bias)
		gate := up
		if !c.Plain {
			gate = times(name+"gate.", c.Hidden, wide, c.Bias)
		}
		for i := range gate {
			if c.Plain {
				gate[i] = max(up[i], 0) * max(up[i], 0)
				continue
			}
			g, u, sharp := gate[i], up[i], 1.0
			if c.Limit > 0 {
				g, u = min(g, float64(c.Limit)), max(min(u, float64(c.Limit)), -float64(c.Limit))
			}
			u += float64(c.Offset)
			if c.Sharpness > 0 {
				sharp = float64(c.Sharpness)
			}
			gate[i] = g / (1 + math.Exp(-sharp*g)) * u
		}
		for i, v := range times(name+"down.", c.Dim, gate, c.Bias) {
			out[i] += weight[e] * v
		}
	}
	return out
}

// picked returns the experts of a row by their scores, the best first, and the weights of those
// that count.
func picked(c tf.MixtureConfig, w tf.Weights, scores []float64) (order []int, weight []float64) {
	choice, of := slices.Clone(scores), make([]float64, len(scores)) // what experts are picked by, and weighed by
	for e, x := range scores {
		if of[e] = math.Exp(x); c.Sigmoid {
			of[e] = 1 / (1 + math.Exp(-x))
			correction, _ := w.Tensor("correction", c.Experts)
			choice[e] = of[e] + float64(correction[e])
		}
	}
	by := func(value func(i int) float64, n int) []int {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, value(b)-value(a))) })
		return order
	}
	if c.Groups > 0 {
		size := c.Experts / c.Groups
		groups := by(func(g int) float64 {
			of := slices.Clone(choice[g*size : (g+1)*size])
			slices.Sort(of)
			return of[size-1] + of[size-2]
		}, c.Groups)
		for _, g := range groups[c.TopGroups:] {
			for e := g * size; e < (g+1)*size; e++ {
				choice[e] = math.Inf(-1)
			}
		}
	}
	order = by(func(e int) float64 { return choice[e] }, c.Experts)
	among, sum := order, float64(c.Epsilon) // which weights the sum is of
	if c.Normalize {
		among = order[:c.TopK]
	}
	for _, e := range among {
		sum += of[e]
	}
	if c.Sigmoid && !c.Normalize {
		sum = 1
	}
	scale := float64(c.Scale)
	if scale == 0 {
		scale = 1
	}
	for e := range of {
		of[e] *= scale / sum
	}
	return order, of
}

// TestMixture compares with the definition, and wants each row to have the bits that it has alone
// and on any number of threads, in every format.
func TestMixture(t *testing.T) {
	base := tf.MixtureConfig{Dim: 32, Hidden: 64, Experts: 7, TopK: 3, Activation: kernels.ActSiLU}
	gptOSS := tf.MixtureConfig{Dim: 32, Hidden: 64, Experts: 5, TopK: 5, Activation: kernels.ActSiLU, Normalize: true, RouterBias: true, Bias: true, Sharpness: 1.7, Limit: 0.1, Offset: 1}
	one, normalized := base, base
	one.TopK, normalized.Normalize = 1, true
	sigmoid := base
	sigmoid.Sigmoid, sigmoid.Scale = true, 1.7
	grouped := tf.MixtureConfig{Dim: 32, Hidden: 64, Experts: 12, TopK: 3, Activation: kernels.ActSiLU, Sigmoid: true, Normalize: true, Epsilon: 0.5, Groups: 4, TopGroups: 2}
	plain := sigmoid
	plain.Plain, plain.Activation, plain.RouterDim = true, kernels.ActReLU2, 48
	tftest.EachTier(t, func(t *testing.T) {
		for _, c := range []tf.MixtureConfig{base, one, normalized, gptOSS, sigmoid, grouped, plain} {
			for _, f := range []kernels.Format{kernels.FormatF32, kernels.FormatBF16, kernels.FormatInt8, kernels.FormatQ4_0} {
				w := tf.Random(11)
				l := tf.NewLoader(w)
				l.Pack(func(name string, _ kernels.Format, _ bool) kernels.Format {
					if name == "router.weight" {
						return kernels.FormatF32
					}
					return f
				})
				m := l.Mixture(c, mixtureNames)
				tftest.NoError(t, l.Finish())
				for _, rows := range []int{0, 1, 2, 29} {
					x, residual := tftest.Normal(uint64(rows), rows*c.Dim), tftest.Normal(7, rows*c.Dim)
					by, width := x, c.Dim // what the router scores
					if c.RouterDim != 0 {
						by, width = tftest.Normal(5, rows*c.RouterDim), c.RouterDim
					}
					y := make([]float32, len(x))
					ws := &tf.Workspace{Threads: 3}
					tftest.NoError(t, m.ForwardBy(ws, y, x, by, residual))
					for r := range rows {
						row, alone := x[r*c.Dim:(r+1)*c.Dim], make([]float32, c.Dim)
						tftest.NoError(t, m.ForwardBy(new(tf.Workspace), alone, row, by[r*width:(r+1)*width], residual[r*c.Dim:(r+1)*c.Dim]))
						if !slices.Equal(alone, y[r*c.Dim:(r+1)*c.Dim]) {
							t.Fatalf("%v, %+v: row %d of %d has other bits than alone", f, c, r, rows)
						}
						if f != kernels.FormatF32 {
							continue
						}
						for i, want := range mixtureOf(c, w, row, by[r*width:(r+1)*width]) {
							if want += float64(residual[r*c.Dim+i]); !(math.Abs(float64(alone[i])-want) < 1e-5) {
								t.Fatalf("%+v: element %d of row %d is %v, want %v", c, i, r, alone[i], want)
							}
						}
					}
					same := slices.Clone(residual)
					tftest.NoError(t, m.ForwardBy(ws, same, x, by, same))
					if !slices.Equal(same, y) {
						t.Fatalf("%+v: other bits where dst is the residual", c)
					}
				}
			}
		}
	})
}

// TestMixtureStacked reads the same experts from tensors that stack them in the ways of several
// models.
func TestMixtureStacked(t *testing.T) {
	c := tf.MixtureConfig{Dim: 8, Hidden: 12, Experts: 3, TopK: 2, Activation: kernels.ActSiLU, Bias: true}
	w := tf.Random(13)
	tensor := func(name string, shape ...int) []float32 { return tftest.Must(w.Tensor(name, shape...))(t) }
	each, apart, packed, woven := tf.TensorMap{}, tf.TensorMap{}, tf.TensorMap{}, tf.TensorMap{}
	add := func(m tf.TensorMap, name string, x []float32, shape ...int) {
		old := m[name]
		m[name] = safetensors.Tensor{Shape: shape, Data: append(old.Data, x...)}
	}
	transposed := func(x []float32, rows int) []float32 {
		y, cols := make([]float32, len(x)), len(x)/rows
		for i := range rows {
			for j := range cols {
				y[j*rows+i] = x[i*cols+j]
			}
		}
		return y
	}
	for _, m := range []tf.TensorMap{each, apart, packed, woven} {
		add(m, "router.weight", tensor("router.weight", 3, 8), 3, 8)
	}
	for e := range 3 {
		var gu, gub []float32
		for _, part := range []string{"gate", "up"} {
			name := fmt.Sprintf("experts.%d.%s.", e, part)
			x, b := tensor(name+"weight", 12, 8), tensor(name+"bias", 12)
			add(each, name+"weight", x, 12, 8)
			add(each, name+"bias", b, 12)
			add(apart, "experts."+part+".weight", x, 3, 12, 8)
			add(apart, "experts."+part+".bias", b, 3, 12)
			gu, gub = append(gu, x...), append(gub, b...)
		}
		add(packed, "experts.both.weight", gu, 3, 24, 8)
		add(packed, "experts.both.bias", gub, 3, 24)
		var rows, biases []float32 // of gate and up in turn
		for i := range 12 {
			rows = append(append(rows, gu[i*8:(i+1)*8]...), gu[(12+i)*8:(13+i)*8]...)
			biases = append(biases, gub[i], gub[12+i])
		}
		add(woven, "experts.both.weight", transposed(rows, 24), 3, 8, 24)
		add(woven, "experts.both.bias", biases, 3, 24)
		name := fmt.Sprintf("experts.%d.down.", e)
		x, b := tensor(name+"weight", 8, 12), tensor(name+"bias", 8)
		add(each, name+"weight", x, 8, 12)
		add(each, name+"bias", b, 8)
		for _, m := range []tf.TensorMap{apart, packed} {
			add(m, "experts.down.weight", x, 3, 8, 12)
		}
		add(woven, "experts.down.weight", transposed(x, 8), 3, 12, 8)
		for _, m := range []tf.TensorMap{apart, packed, woven} {
			add(m, "experts.down.bias", b, 3, 8)
		}
	}
	names := tf.MixtureNames{Router: "router.", Each: "experts.%d.", All: "experts.", Expert: tf.FeedForwardNames{Packed: "both.", Gate: "gate.", Up: "up.", Down: "down."}}
	other := names
	other.Interleaved, other.Transposed = true, true
	x := tftest.Normal(1, 9*8)
	var want []float32
	for i, m := range []tf.TensorMap{each, apart, packed, woven} {
		n := names
		if i == 3 {
			n = other
		}
		l := tf.NewLoader(m)
		mixture := l.Mixture(c, n)
		tftest.NoError(t, l.Finish())
		y := make([]float32, len(x))
		tftest.NoError(t, mixture.Forward(new(tf.Workspace), y, x, nil))
		if i == 0 {
			want = y
		} else if !slices.Equal(y, want) {
			t.Errorf("form %d: other values", i)
		}
	}
	delete(packed, "experts.both.bias")
	l := tf.NewLoader(packed)
	l.Mixture(c, names)
	if err := l.Finish(); !errors.Is(err, fault.ErrMissing) {
		t.Errorf("without a bias: %v", err)
	}
}

// TestMixtureErrors makes mixtures that make no sense, of which some claim more than there is.
func TestMixtureErrors(t *testing.T) {
	right := tf.MixtureConfig{Dim: 8, Hidden: 12, Experts: 3, TopK: 2, Activation: kernels.ActSiLU}
	for name, change := range map[string]func(c *tf.MixtureConfig){
		"dim":        func(c *tf.MixtureConfig) { c.Dim = 0 },
		"hidden":     func(c *tf.MixtureConfig) { c.Hidden = -1 },
		"experts":    func(c *tf.MixtureConfig) { c.Experts = 0 },
		"top k":      func(c *tf.MixtureConfig) { c.TopK = 0 },
		"best 4":     func(c *tf.MixtureConfig) { c.TopK = 4 },
		"activation": func(c *tf.MixtureConfig) { c.Activation = kernels.ActIdentity },
		"sharpness":  func(c *tf.MixtureConfig) { c.Sharpness = -1 },
		"limit":      func(c *tf.MixtureConfig) { c.Limit = float32(math.NaN()) },
		"epsilon":    func(c *tf.MixtureConfig) { c.Epsilon = -1 },
		"router dim": func(c *tf.MixtureConfig) { c.RouterDim = -1 },
		"plain":      func(c *tf.MixtureConfig) { c.Plain, c.Bias = true, true },
		"scale":      func(c *tf.MixtureConfig) { c.Scale = -1 },
		"groups":     func(c *tf.MixtureConfig) { c.Sigmoid, c.Groups, c.TopGroups = true, 2, 1 },
		"top groups": func(c *tf.MixtureConfig) { c.Sigmoid, c.Groups, c.TopGroups = true, 1, 2 },
		"softmax":    func(c *tf.MixtureConfig) { c.Groups, c.TopGroups = 1, 1 },
	} {
		c := right
		change(&c)
		l := tf.NewLoader(tf.Random(1))
		if l.Mixture(c, mixtureNames); !errors.Is(l.Finish(), fault.ErrConfig) {
			t.Errorf("%s: %v", name, l.Finish())
		}
	}
	huge := right
	huge.Experts = math.MaxInt32
	l := tf.NewLoader(tf.TensorMap{})
	l.Mixture(huge, mixtureNames)
	if err := l.Finish(); !errors.Is(err, fault.ErrMissing) {
		t.Errorf("experts that are not there: %v", err)
	}
	l = tf.NewLoader(tf.Random(1))
	m := l.Mixture(right, mixtureNames)
	tftest.NoError(t, l.Finish())
	for name, err := range map[string]error{
		"x":         m.Forward(new(tf.Workspace), make([]float32, 8), make([]float32, 9), nil),
		"dst":       m.Forward(new(tf.Workspace), make([]float32, 9), make([]float32, 8), nil),
		"residual":  m.Forward(new(tf.Workspace), make([]float32, 8), make([]float32, 8), make([]float32, 7)),
		"router":    m.ForwardBy(new(tf.Workspace), make([]float32, 8), make([]float32, 8), make([]float32, 9), nil),
		"workspace": m.Forward(nil, make([]float32, 8), make([]float32, 8), nil),
		"nothing":   (&tf.Mixture{}).Forward(new(tf.Workspace), nil, nil, nil),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	nan := slices.Repeat([]float32{float32(math.NaN())}, 16)
	y := make([]float32, 16)
	tftest.NoError(t, m.Forward(new(tf.Workspace), y, nan, nil))
	if y[0] == y[0] {
		t.Errorf("of NaN comes %v", y[0])
	}
}
