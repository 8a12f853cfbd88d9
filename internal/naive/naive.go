// Package naive computes the layers of package transformer one sequence at a time, in float64, by
// the plain functions of kernels/ref. Tests compare each layer with it. It uses only configuration
// and weights of the layers.
package naive

import (
	"math"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/ref"
	"github.com/avoformer/avoformer/models/classic"
	"github.com/avoformer/avoformer/transformer"
)

// Visible reports whether query i sees key j. A nil Visible admits all keys.
type Visible func(i, j int) bool

// Causal admits the keys up to the query's own place.
func Causal(i, j int) bool { return j <= i }

// matrix is a linear layer's weights, [out, in], in float64.
type matrix struct {
	in, out      int
	weight, bias []float64
}

func widen(l *transformer.Linear) matrix {
	m := matrix{l.In, l.Out, ref.Widen(l.Weight()), nil}
	if l.Bias != nil {
		m.bias = ref.Widen(l.Bias)
	}
	return m
}

// rows is outputs [from, to) of m.
func (m matrix) rows(from, to int) matrix {
	part := matrix{m.in, to - from, m.weight[from*m.in : to*m.in], nil}
	if m.bias != nil {
		part.bias = m.bias[from:to]
	}
	return part
}

func (m matrix) apply(x []float64) []float64 {
	rows := len(x) / m.in
	y := make([]float64, rows*m.out)
	ref.Gemm(false, true, rows, m.out, m.in, 1, x, m.in, m.weight, m.in, 0, y, m.out)
	if m.bias != nil {
		for i := range y {
			y[i] += m.bias[i%m.out]
		}
	}
	return y
}

// Linear returns x*Wᵀ + b.
func Linear(l *transformer.Linear, x []float64) []float64 { return widen(l).apply(x) }

// Norm returns layer or RMS normalization of x.
func Norm(n *transformer.Norm, x []float64) []float64 {
	cols := len(n.Weight)
	y := make([]float64, len(x))
	if n.RMS {
		ref.RMSNorm(y, x, len(x)/cols, cols, ref.Widen(n.Weight), float64(n.Eps))
	} else {
		ref.LayerNorm(y, x, len(x)/cols, cols, ref.Widen(n.Weight), ref.Widen(n.Bias), float64(n.Eps))
	}
	return y
}

// FeedForward returns the output of the position-wise network.
func FeedForward(f *transformer.FeedForward, x []float64) []float64 {
	act := map[kernels.Activation]func(float64) float64{
		kernels.ActReLU: ref.ReLU, kernels.ActGELU: ref.GELU, kernels.ActGELUTanh: ref.GELUTanh, kernels.ActSiLU: ref.SiLU,
		kernels.ActTanh: math.Tanh, kernels.ActReLU2: func(x float64) float64 { return ref.ReLU(x) * ref.ReLU(x) },
	}[f.Activation]
	h := Linear(f.Up, x)
	if f.Gate != nil {
		for i, g := range Linear(f.Gate, x) {
			h[i] *= act(g)
		}
	} else {
		for i := range h {
			h[i] = act(h[i])
		}
	}
	return Linear(f.Down, h)
}

// MultiHeadAttention returns the attention of rows x to rows kv, and its weights, [heads, queries,
// keys].
func MultiHeadAttention(a *transformer.MultiHeadAttention, x, kv []float64, visible Visible) (out, weights []float64) {
	dim, kvDim := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	var q, k, v matrix
	if a.QKV != nil {
		all := widen(a.QKV)
		q, k, v = all.rows(0, dim), all.rows(dim, dim+kvDim), all.rows(dim+kvDim, dim+2*kvDim)
	} else {
		q, k, v = widen(a.Query), widen(a.Key), widen(a.Value)
	}
	lenQ, lenK := len(x)/q.in, len(kv)/k.in
	queries, keys, values := q.apply(x), k.apply(kv), v.apply(kv)
	context := make([]float64, lenQ*dim)
	for h := range a.Heads {
		group := h / (a.Heads / a.KVHeads)
		p := ref.AttentionParams{
			LenQ: lenQ, LenK: lenK, Dim: a.HeadDim, DimV: a.HeadDim,
			Q: columns(queries, dim, h*a.HeadDim, a.HeadDim), K: columns(keys, kvDim, group*a.HeadDim, a.HeadDim), V: columns(values, kvDim, group*a.HeadDim, a.HeadDim),
			Scale: float64(a.Scale), Visible: visible,
		}
		if a.Rotary != nil {
			rotate(a.Rotary, p.Q, a.HeadDim)
			rotate(a.Rotary, p.K, a.HeadDim)
		}
		if a.Relative != nil {
			p.Relative = relative(a.Relative, p)
		}
		y, w := ref.Attention(p)
		weights = append(weights, w...)
		for i := range lenQ {
			copy(context[i*dim+h*a.HeadDim:], y[i*a.HeadDim:(i+1)*a.HeadDim])
		}
	}
	if a.Out == nil {
		return context, weights
	}
	return Linear(a.Out, context), weights
}

// columns returns columns [from, from+n) of x, whose rows have the given width.
func columns(x []float64, width, from, n int) []float64 {
	var part []float64
	for r := 0; r < len(x); r += width {
		part = append(part, x[r+from:r+from+n]...)
	}
	return part
}

func rotate(r *transformer.Rotary, x []float64, headDim int) {
	for p := range len(x) / headDim {
		row := x[p*headDim : (p+1)*headDim]
		for i := range r.Dim / 2 {
			sin, cos := math.Sincos(float64(p) * math.Pow(r.Theta, -2*float64(i)/float64(r.Dim)))
			a, b := i, i+r.Dim/2
			if r.Pairing == transformer.PairNeighbours {
				a, b = 2*i, 2*i+1
			}
			row[a], row[b] = row[a]*cos-row[b]*sin, row[b]*cos+row[a]*sin
		}
	}
}

func relative(r *transformer.Relative, p ref.AttentionParams) []float64 {
	e := ref.Widen(r.Weight)
	terms := make([]float64, p.LenQ*p.LenK)
	for i := range p.LenQ {
		for j := range p.LenK {
			row := e[(i-j+r.MaxPositions-1)*p.Dim:][:p.Dim]
			for d, v := range row {
				terms[i*p.LenK+j] += p.Q[i*p.Dim+d] * v
				if r.Kind == transformer.RelativeKeyQuery {
					terms[i*p.LenK+j] += p.K[j*p.Dim+d] * v
				}
			}
		}
	}
	return terms
}

// Layer returns the output of an encoder layer or, with memory, of a decoder layer.
func Layer(l *transformer.Layer, x []float64, visible Visible, memory []float64, memoryVisible Visible) []float64 {
	part := func(x []float64, n *transformer.Norm, f func([]float64) []float64) []float64 {
		if l.NormFirst {
			return plus(x, f(Norm(n, x)))
		}
		return Norm(n, plus(x, f(x)))
	}
	x = part(x, l.SelfNorm, func(x []float64) []float64 {
		y, _ := MultiHeadAttention(l.Self, x, x, visible)
		return y
	})
	if l.Cross != nil {
		x = part(x, l.CrossNorm, func(x []float64) []float64 {
			y, _ := MultiHeadAttention(l.Cross, x, memory, memoryVisible)
			return y
		})
	}
	return part(x, l.FeedNorm, func(x []float64) []float64 { return FeedForward(l.Feed.(*transformer.FeedForward), x) })
}

func plus(x, y []float64) []float64 {
	z := make([]float64, len(x))
	for i := range z {
		z[i] = x[i] + y[i]
	}
	return z
}

// Stack returns the output of all layers, one after the other.
func Stack(s *transformer.Stack, x []float64, visible Visible, memory []float64, memoryVisible Visible) []float64 {
	for _, l := range s.Layers {
		x = Layer(l, x, visible, memory, memoryVisible)
	}
	if s.Norm != nil {
		x = Norm(s.Norm, x)
	}
	return x
}

// Embed returns the scaled vectors of tokens.
func Embed(e *transformer.Embedding, tokens []int) []float64 {
	scale := 1.0
	if e.Scale != 0 {
		scale = float64(e.Scale)
	}
	var x []float64
	for _, t := range tokens {
		row := make([]float32, e.Dim)
		e.Row(row, t)
		for _, v := range row {
			x = append(x, scale*float64(v))
		}
	}
	return x
}

// AddSinusoidal adds the original transformer's positions to rows of x.
func AddSinusoidal(x []float64, dim int) {
	for i := range x {
		p, c := i/dim, i%dim
		angle := float64(p) / math.Pow(10000, float64(c-c%2)/float64(dim))
		if c%2 == 0 {
			x[i] += math.Sin(angle)
		} else {
			x[i] += math.Cos(angle)
		}
	}
}

// Encode returns the output of a Seq2Seq's encoder.
func Encode(m *classic.Seq2Seq, source []int) []float64 {
	x := Embed(m.SourceEmbedding, source)
	AddSinusoidal(x, m.SourceEmbedding.Dim)
	return Stack(m.Transformer.Encoder, x, nil, nil, nil)
}

// Logits returns the logits after each target token, [len(target), vocabulary].
func Logits(m *classic.Seq2Seq, memory []float64, target []int) []float64 {
	x := Embed(m.TargetEmbedding, target)
	AddSinusoidal(x, m.TargetEmbedding.Dim)
	return Linear(m.Generator, Stack(m.Transformer.Decoder, x, Causal, memory, nil))
}
