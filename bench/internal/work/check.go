package work

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/avoformer/avoformer/kernels/ref"
)

// Data is a case with its inputs, in the order of the operation's formula:
//
//	gemm_*            A [M,K], B [K,N] (gemm_nt: [N,K])
//	linear_bias_gelu  A [M,K], B [K,N], bias [N]
//	bgemm_*           A [H,M,K], B [H,K,N] (bgemm_nt: [H,N,K])
//	layernorm         x [R,C], weight [C], bias [C]
//	rmsnorm           x [R,C], weight [C]
//	add_layernorm     x [R,C], weight [C], bias [C], residual [R,C]
//	add, mul          a [R,C], b [R,C]
//	other RxC         x [R,C]
//	sdpa*             Q [B,H,Lq,D], K [B,H,Lk,D], V [B,H,Lk,D]; the result is [B,H,Lq,D]
//	encoder_layer     x [B,L,D], Wqkv [D,3D], bqkv, Wo [D,D], bo, weight1, bias1 (norm), W1 [D,F], b1, W2 [F,D], b2, weight2, bias2 (norm)
type Data struct {
	Case
	In [][]float32

	// The oracle's values at some rows of the result, and how far from them a result may be.
	rows  []int
	cols  int
	want  []float64
	bound []float64
}

// maxOracleFLOPs keeps the float64 oracle to about a second per case; beyond it, a sample of the
// rows (always with the first and the last) is checked.
const maxOracleFLOPs = 4e8

// NewData draws the inputs of a case, the same ones every time, and computes the oracle's result.
func NewData(c Case) *Data {
	d := &Data{Case: c}
	rng := rand.New(rand.NewPCG(1, uint64(len(c.Op))))
	for i, n := range c.inputLens() {
		x := make([]float32, n)
		amplitude := float32(0.5)
		switch {
		case elementwise[c.Op] != nil || c.Op == Softmax || c.Op == LogSoftmax:
			amplitude = 6
		case c.Op == EncoderLayer && i > 0:
			amplitude = 0.06
		}
		for j := range x {
			x[j] = (rng.Float32()*2 - 1) * amplitude
		}
		if (c.Op == LayerNorm || c.Op == RMSNorm || c.Op == AddLayerNorm) && i == 1 || c.Op == EncoderLayer && (i == 5 || i == 11) {
			for j := range x {
				x[j]++
			}
		}
		d.In = append(d.In, x)
	}
	d.sample(rng)
	d.oracle()
	return d
}

// sample picks the rows of the result to be checked.
func (d *Data) sample(rng *rand.Rand) {
	out := d.OutputLen()
	d.cols = d.Dims[len(d.Dims)-1]
	switch d.Op {
	case GemmNN, GemmNT, GemmPacked, LinearBiasGELU:
		d.cols = d.Dims[1]
	case BatchGemmNN, BatchGemmNT, EncoderLayer:
		d.cols = d.Dims[2]
	}
	n := out / d.cols
	if d.Op == EncoderLayer {
		// A row of the result needs all keys of its sequence, so the oracle computes one whole sequence.
		d.rows = make([]int, d.Dims[1])
		for i := range d.rows {
			d.rows[i] = (d.Dims[0]-1)*d.Dims[1] + i
		}
		return
	}
	keep := max(8, int(float64(n)*maxOracleFLOPs/d.FLOPs()))
	if keep >= n {
		keep = n
	}
	d.rows = make([]int, keep)
	for i := range d.rows {
		d.rows[i] = i
		if keep < n && i > 0 {
			d.rows[i] = rng.IntN(n)
		}
	}
	d.rows[keep-1] = n - 1
}

func (d *Data) oracle() {
	d.want = make([]float64, len(d.rows)*d.cols)
	d.bound = make([]float64, len(d.want))
	if d.Op == EncoderLayer {
		d.encoderOracle()
		return
	}
	for i, r := range d.rows {
		want, bound := d.want[i*d.cols:(i+1)*d.cols], d.bound[i*d.cols:(i+1)*d.cols]
		d.oracleRow(want, bound, r)
	}
}

// eps is the unit roundoff of float32.
const eps = 1.0 / (1 << 24)

// sumBound is how far a float32 sum of k products may fall from the exact one, given the sum of their
// absolute values: sixteen times the square root of k roundings, far under the worst case of k and far
// over what a right kernel shows.
func sumBound(k int, abs float64) float64 { return (16*math.Sqrt(float64(k)) + 8) * eps * abs }

func (d *Data) oracleRow(want, bound []float64, r int) {
	dims := d.Dims
	if f := elementwise[d.Op]; f != nil {
		x := d.row(0, r)
		ref.Map(want, x, f)
		relative(bound, want, 64*eps)
		if d.Op == GELU || d.Op == GELUTanh {
			for j := range bound {
				// Peers take 1 + erf(x/√2), which loses the left tail relative to x.
				bound[j] += 8 * eps * math.Abs(x[j])
			}
		}
		return
	}
	switch d.Op {
	case GemmNN, GemmNT, GemmPacked, LinearBiasGELU, BatchGemmNN, BatchGemmNT:
		if len(dims) == 4 {
			dims = dims[1:]
		}
		m, n, k := dims[0], dims[1], dims[2]
		trans := d.Op == GemmNT || d.Op == BatchGemmNT
		ldb := n
		if trans {
			ldb = k
		}
		a := ref.Widen(d.In[0][r*k : (r+1)*k])
		b := ref.Widen(d.In[1][(r/m)*k*n : (r/m+1)*k*n])
		ref.Gemm(false, trans, 1, n, k, 1, a, k, b, ldb, 0, want, n)
		ref.GemmAbs(false, trans, 1, n, k, 1, a, k, b, ldb, 0, bound, n)
		for j := range bound {
			bound[j] = sumBound(k, bound[j])
		}
		if d.Op == LinearBiasGELU {
			for j := range want {
				// The derivative of GELU is at most 1.13.
				want[j] = ref.GELU(want[j] + float64(d.In[2][j]))
				bound[j] = 1.2*bound[j] + 8*eps*(1+math.Abs(want[j]))
			}
		}
	case Softmax:
		ref.Softmax(want, d.row(0, r), 1, d.cols)
		relative(bound, want, 64*eps)
	case LogSoftmax:
		ref.LogSoftmax(want, d.row(0, r), 1, d.cols)
		relative(bound, want, 64*eps)
	case LayerNorm:
		ref.LayerNorm(want, d.row(0, r), 1, d.cols, ref.Widen(d.In[1]), ref.Widen(d.In[2]), 1e-5)
		normBound(bound, want)
	case AddLayerNorm:
		sum := make([]float64, d.cols)
		ref.AddLayerNorm(want, sum, d.row(0, r), d.row(3, r), 1, d.cols, ref.Widen(d.In[1]), ref.Widen(d.In[2]), 1e-5)
		normBound(bound, want)
	case RMSNorm:
		ref.RMSNorm(want, d.row(0, r), 1, d.cols, ref.Widen(d.In[1]), 1e-5)
		normBound(bound, want)
	case Add, Mul:
		a, b := d.row(0, r), d.row(1, r)
		for j := range want {
			want[j] = a[j] + b[j]
			if d.Op == Mul {
				want[j] = a[j] * b[j]
			}
		}
		relative(bound, want, 2*eps)
	case SDPA, SDPADecode:
		lq, lk, w := dims[2], dims[3], dims[4]
		h := r / lq
		q, keys, values := d.In[0][r*w:(r+1)*w], d.In[1][h*lk*w:(h+1)*lk*w], d.In[2][h*lk*w:(h+1)*lk*w]
		score := make([]float64, lk)
		ref.Gemm(false, true, 1, lk, w, 1/math.Sqrt(float64(w)), ref.Widen(q), w, ref.Widen(keys), w, 0, score, lk)
		ref.Softmax(score, score, 1, lk)
		ref.Gemm(false, false, 1, w, lk, 1, score, lk, ref.Widen(values), w, 0, want, w)
		for j := range bound {
			bound[j] = sumBound(lk, 0.5) + 64*eps
		}
	}
}

// row is row r of input i.
func (d *Data) row(i, r int) []float64 { return ref.Widen(d.In[i][r*d.cols : (r+1)*d.cols]) }

// elementwise are the operations of one argument.
var elementwise = map[Op]func(float64) float64{
	Exp: math.Exp, GELU: ref.GELU, GELUTanh: ref.GELUTanh, SiLU: ref.SiLU, ReLU: ref.ReLU,
	Tanh: math.Tanh, Sigmoid: ref.Sigmoid, Erf: math.Erf,
}

func normBound(bound, want []float64) {
	for i, w := range want {
		bound[i] = 64 * eps * (1 + math.Abs(w))
	}
}

func relative(bound, want []float64, by float64) {
	for i, w := range want {
		bound[i] = by * math.Abs(w)
	}
}

// encoderOracle computes the last sequence of the batch.
func (d *Data) encoderOracle() {
	l, n, heads, f := d.Dims[1], d.Dims[2], d.Dims[3], d.Dims[4]
	x := ref.Widen(d.In[0][(d.Dims[0]-1)*l*n:])
	linear := func(x []float64, k, m, i int) []float64 {
		y := make([]float64, l*m)
		for r := range l {
			copy(y[r*m:], ref.Widen(d.In[i+1]))
		}
		ref.Gemm(false, false, l, m, k, 1, x, k, ref.Widen(d.In[i]), m, 1, y, m)
		return y
	}
	qkv := linear(x, n, 3*n, 1)
	att := make([]float64, l*n)
	w := n / heads
	score := make([]float64, l*l)
	for h := range heads {
		q, k, v := qkv[h*w:], qkv[n+h*w:], qkv[2*n+h*w:]
		ref.Gemm(false, true, l, l, w, 1/math.Sqrt(float64(w)), q, 3*n, k, 3*n, 0, score, l)
		ref.Softmax(score, score, l, l)
		ref.Gemm(false, false, l, w, l, 1, score, l, v, 3*n, 0, att[h*w:], n)
	}
	norm := func(y, residual []float64, i int) []float64 {
		out := make([]float64, len(y))
		ref.AddLayerNorm(out, make([]float64, len(y)), y, residual, l, n, ref.Widen(d.In[i]), ref.Widen(d.In[i+1]), 1e-12)
		return out
	}
	y := norm(linear(att, n, n, 3), x, 5)
	hidden := linear(y, n, f, 7)
	ref.Map(hidden, hidden, ref.GELU)
	copy(d.want, norm(linear(hidden, f, n, 9), y, 11))
	for i := range d.bound {
		d.bound[i] = 2e-4
	}
}

// Check compares a result with the oracle's. The error names the first element that is too far off.
func (d *Data) Check(got []float32) error {
	if len(got) != d.OutputLen() {
		return fmt.Errorf("%v: %d values in the result, want %d", d.Case, len(got), d.OutputLen())
	}
	for i, r := range d.rows {
		for j := range d.cols {
			g, want, bound := float64(got[r*d.cols+j]), d.want[i*d.cols+j], d.bound[i*d.cols+j]
			if !(math.Abs(g-want) <= bound) {
				return fmt.Errorf("%v: result[%d,%d] = %g, the oracle says %g ± %.2g", d.Case, r, j, g, want, bound)
			}
		}
	}
	for i, g := range got {
		if math.IsNaN(float64(g)) || math.IsInf(float64(g), 0) {
			return fmt.Errorf("%v: result[%d,%d] = %g", d.Case, i/d.cols, i%d.cols, g)
		}
	}
	return nil
}
