package workload

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
//	feed_forward      x [R,D], W1 [D,F], b1, W2 [F,D], b2
//	self_attention    x [B,L,D], Wqkv [D,3D], bqkv, Wo [D,D], bo
//	decoder_layer     those of encoder_layer with x [B,L,D], then memory [B,M,D], Wqkv [D,3D], bqkv, Wo [D,D], bo, weight3, bias3 (norm)
//	                  of the attention to memory
type Data struct {
	Case
	In [][]float32

	// The oracle's values at some rows of the result, and the allowed differences from them.
	rows  []int
	cols  int
	want  []float64
	bound []float64
}

// maxOracleFLOPs limits the float64 oracle to less than a second per case. If the oracle needs more
// operations, it checks a sample of the rows, always with the first and the last.
const maxOracleFLOPs = 1e8

// maxLayerRows is the number of a layer's rows that are checked. Each of them needs all keys and
// values.
const maxLayerRows = 16

// NewData draws the inputs of a case, which are the same every time, and computes the oracle's
// result.
func NewData(c Case) *Data { return NewSample(c, maxOracleFLOPs) }

// NewSample does the same as NewData with a sample of the rows, at least eight. Its number is
// chosen so that the oracle needs about flops operations.
func NewSample(c Case, flops float64) *Data {
	d := &Data{Case: c}
	rng := rand.New(rand.NewPCG(1, uint64(len(c.Op))))
	for i, n := range c.inputLens() {
		x := make([]float32, n)
		amplitude := float32(0.5)
		switch {
		case elementwise[c.Op] != nil || c.Op == Softmax || c.Op == LogSoftmax:
			amplitude = 6
		case layer[c.Op] && i > 0 && !(c.Op == DecoderLayer && i == 13):
			amplitude = 0.06
		}
		for j := range x {
			x[j] = (rng.Float32()*2 - 1) * amplitude
		}
		if (c.Op == LayerNorm || c.Op == RMSNorm || c.Op == AddLayerNorm) && i == 1 ||
			(c.Op == EncoderLayer || c.Op == DecoderLayer) && (i == 5 || i == 11 || i == 18) {
			for j := range x {
				x[j]++
			}
		}
		d.In = append(d.In, x)
	}
	d.sample(rng, flops)
	d.oracle()
	if c.Int8 {
		d.boundInt8()
	}
	return d
}

// sample chooses the rows of the result that are checked.
func (d *Data) sample(rng *rand.Rand, flops float64) {
	out := d.OutputLen()
	d.cols = d.Dims[len(d.Dims)-1]
	switch d.Op {
	case GemmNN, GemmNT, GemmPacked, LinearBiasGELU, FeedForward:
		d.cols = d.Dims[1]
	case BatchGemmNN, BatchGemmNT, EncoderLayer, SelfAttention:
		d.cols = d.Dims[2]
	case DecoderLayer:
		d.cols = d.Dims[3]
	}
	n := out / d.cols
	if layer[d.Op] && d.Op != FeedForward {
		// A row needs all keys of its sequence, so all rows are from the last sequence.
		length := d.Dims[1]
		d.rows = make([]int, min(length, maxLayerRows))
		for i := range d.rows {
			d.rows[i] = n - length + i*(length-1)/max(1, len(d.rows)-1)
		}
		return
	}
	keep := max(8, int(float64(n)*flops/d.FLOPs()))
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
	if layer[d.Op] {
		d.layerOracle()
		return
	}
	for i, r := range d.rows {
		want, bound := d.want[i*d.cols:(i+1)*d.cols], d.bound[i*d.cols:(i+1)*d.cols]
		d.oracleRow(want, bound, r)
	}
}

// eps is the unit roundoff of float32.
const eps = 1.0 / (1 << 24)

// sumBound returns the allowed difference of a float32 sum of k products from the exact sum, where
// abs is the sum of the products' absolute values: sixteen times the square root of k roundings.
// That is far below the worst case of k and far above the errors of a correct kernel.
func sumBound(k int, abs float64) float64 { return (16*math.Sqrt(float64(k)) + 8) * eps * abs }

func (d *Data) oracleRow(want, bound []float64, r int) {
	dims := d.Dims
	if f := elementwise[d.Op]; f != nil {
		x := d.row(0, r)
		ref.Map(want, x, f)
		relative(bound, want, 64*eps)
		if d.Op == GELU || d.Op == GELUTanh {
			for j := range bound {
				// Peers compute 1 + erf(x/√2), which loses the left tail relative to x.
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
		normBound(bound, want) // x-max and the logarithm of the sum may cancel each other
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

// row returns row r of input i.
func (d *Data) row(i, r int) []float64 { return ref.Widen(d.In[i][r*d.cols : (r+1)*d.cols]) }

// elementwise holds the operations with one argument.
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

// layer holds the operations that are layers of package transformer.
var layer = map[Op]bool{FeedForward: true, SelfAttention: true, EncoderLayer: true, DecoderLayer: true}

// layerOracle computes the checked rows of a layer.
func (d *Data) layerOracle() {
	for i := range d.bound {
		d.bound[i] = 2e-4
	}
	var x []float64 // the inputs of the checked rows
	for _, r := range d.rows {
		x = append(x, d.row(0, r)...)
	}
	if d.Op == FeedForward {
		copy(d.want, d.feedForward(x, d.Dims[1], d.Dims[2], 1))
		return
	}
	length := d.Dims[1]
	n, heads := d.cols, d.Dims[len(d.Dims)-1]
	if d.Op != SelfAttention {
		heads = d.Dims[len(d.Dims)-2]
	}
	first := len(d.In[0])/n - length
	sequence := ref.Widen(d.In[0][first*n:])
	y := d.attention(x, sequence, n, heads, 1, func(i, key int) bool { return d.Op != DecoderLayer || key <= d.rows[i]-first })
	if d.Op == SelfAttention {
		copy(d.want, y)
		return
	}
	y = d.addNorm(y, x, n, 5)
	if d.Op == DecoderLayer {
		memory := ref.Widen(d.In[13][len(d.In[13])-d.Dims[2]*n:])
		y = d.addNorm(d.attention(y, memory, n, heads, 14, nil), y, n, 18)
	}
	hidden := d.feedForward(y, n, d.Dims[len(d.Dims)-1], 7)
	copy(d.want, d.addNorm(hidden, y, n, 11))
}

// linear returns x·W + b for inputs i and i+1. W is [k, m]; its columns from first on are used.
func (d *Data) linear(x []float64, k, m, i, first, stride int) []float64 {
	rows := len(x) / k
	y := make([]float64, rows*m)
	bias := ref.Widen(d.In[i+1][first : first+m])
	for r := range rows {
		copy(y[r*m:], bias)
	}
	ref.Gemm(false, false, rows, m, k, 1, x, k, ref.Widen(d.In[i][first:]), stride, 1, y, m)
	return y
}

func (d *Data) feedForward(x []float64, n, f, i int) []float64 {
	hidden := d.linear(x, n, f, i, 0, f)
	ref.Map(hidden, hidden, ref.GELU)
	return d.linear(hidden, f, n, i+2, 0, n)
}

// attention returns multi-head attention of the rows x with the weights from input i on.
func (d *Data) attention(x, keys []float64, n, heads, i int, visible func(row, key int) bool) []float64 {
	q, k, v := d.linear(x, n, n, i, 0, 3*n), d.linear(keys, n, n, i, n, 3*n), d.linear(keys, n, n, i, 2*n, 3*n)
	lq, lk, w := len(x)/n, len(keys)/n, n/heads
	out := make([]float64, lq*n)
	score := make([]float64, lq*lk)
	for h := range heads {
		ref.Gemm(false, true, lq, lk, w, 1, q[h*w:], n, k[h*w:], n, 0, score, lk)
		ref.MaskedSoftmax(score, score, lq, lk, 1/math.Sqrt(float64(w)), nil, visible)
		ref.Gemm(false, false, lq, w, lk, 1, score, lk, v[h*w:], n, 0, out[h*w:], n)
	}
	return d.linear(out, n, n, i+2, 0, n)
}

// addNorm returns LayerNorm(y + residual) with weight and bias from input i on.
func (d *Data) addNorm(y, residual []float64, n, i int) []float64 {
	out := make([]float64, len(y))
	ref.AddLayerNorm(out, make([]float64, len(y)), y, residual, len(y)/n, n, ref.Widen(d.In[i]), ref.Widen(d.In[i+1]), 1e-12)
	return out
}

// boundInt8 allows for the rounding to int8: about eight standard deviations of the sum of the
// rounding errors, if each operand has a single scale and 7 bits.
func (d *Data) boundInt8() {
	bound := 0.1 // for a layer, whose result is normalized
	if d.Op == GemmPacked {
		k, top := float64(d.Dims[2]), 0.5
		unit, size := top/63, top/math.Sqrt(3)
		bound = 8 * math.Sqrt(2*k) * unit / math.Sqrt(12) * size
	}
	for i := range d.bound {
		d.bound[i] = bound
	}
}

// Error returns the root mean square of a result's errors, relative to that of the oracle's values.
func (d *Data) Error(got []float32) float64 {
	var off, all float64
	for i, r := range d.rows {
		for j := range d.cols {
			want := d.want[i*d.cols+j]
			diff := float64(got[r*d.cols+j]) - want
			off += diff * diff
			all += want * want
		}
	}
	return math.Sqrt(off / all)
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
