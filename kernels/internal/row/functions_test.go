package row

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/ref"
)

// smallParts makes parts of calls small, so that short matrices are shared among threads.
func smallParts(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept; par.Stop() })
	tune.Used.Rows.PartElements = 64
}

func normal(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// near fails the test unless got is want, up to the errors of float32: a part of each element, and
// a part of their magnitude, which is about 1 except in softmax.
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	for i, w := range want {
		if g := float64(got[i]); !(math.Abs(g-w) <= 2e-5*math.Abs(w)+2e-6*min(largest, 1)) {
			t.Errorf("%s: element %d is %v, want %v", what, i, g, w)
			return
		}
	}
}

// TestFunctions compares each function of rows with its definition, on one thread and on three, for
// rows that are summed in one piece and for longer ones.
func TestFunctions(t *testing.T) {
	smallParts(t)
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, s := range [][2]int{{1, 1}, {7, 5}, {6, 130}, {2, SoftmaxPiece}, {2, SoftmaxPiece + 3}, {2, NormElements}, {2, NormElements + 3}} {
			rows, cols := s[0], s[1]
			n := rows * cols
			x, residual, weight, bias := normal(r, n), normal(r, n), normal(r, cols), normal(r, cols)
			x64, residual64, weight64, bias64 := ref.Widen(x), ref.Widen(residual), ref.Widen(weight), ref.Widen(bias)
			for _, threads := range []int{1, 3} {
				what := func(name string) string { return fmt.Sprintf("%s of %dx%d on %d threads", name, rows, cols, threads) }
				dst, sum, want, wantSum := make([]float32, n), make([]float32, n), make([]float64, n), make([]float64, n)
				large := make([]float32, n) // exponentials overflow unless the row's maximum is subtracted
				for i, v := range x {
					large[i] = v + 200
				}
				Softmax(threads, dst, large, rows, cols)
				ref.Softmax(want, ref.Widen(large), rows, cols)
				near(t, what("softmax"), dst, want)
				LogSoftmax(threads, dst, large, rows, cols)
				ref.LogSoftmax(want, ref.Widen(large), rows, cols)
				near(t, what("log softmax"), dst, want)
				LayerNorm(threads, dst, x, rows, cols, weight, bias, 1e-3)
				ref.LayerNorm(want, x64, rows, cols, weight64, bias64, 1e-3)
				near(t, what("LayerNorm"), dst, want)
				AddLayerNorm(threads, dst, sum, x, residual, rows, cols, weight, bias, 1e-3)
				ref.AddLayerNorm(want, wantSum, x64, residual64, rows, cols, weight64, bias64, 1e-3)
				near(t, what("AddLayerNorm"), dst, want)
				near(t, what("the sum of AddLayerNorm"), sum, wantSum)
				RMSNorm(threads, dst, x, rows, cols, weight, 1e-3)
				ref.RMSNorm(want, x64, rows, cols, weight64, 1e-3)
				near(t, what("RMSNorm"), dst, want)
				AddRMSNorm(threads, dst, sum, x, residual, rows, cols, weight, 1e-3)
				ref.AddRMSNorm(want, wantSum, x64, residual64, rows, cols, weight64, 1e-3)
				near(t, what("AddRMSNorm"), dst, want)
				near(t, what("the sum of AddRMSNorm"), sum, wantSum)
			}
		}
	})
}

// TestGatherAndGate compares gathered and gated rows with their definitions, element by element.
func TestGatherAndGate(t *testing.T) {
	smallParts(t)
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, s := range [][2]int{{1, 1}, {9, 40}, {2, 20_000}} {
			rows, cols := s[0], s[1]
			for _, threads := range []int{1, 3} {
				x, index := normal(r, 5*cols), make([]int32, 3*rows)
				for i := range index {
					index[i] = int32(r.IntN(5))
				}
				weight, residual, dst, want := normal(r, len(index)), normal(r, rows*cols), make([]float32, rows*cols), make([]float64, rows*cols)
				for i := range want {
					want[i] = float64(residual[i])
					for j := range 3 {
						at := i/cols*3 + j
						want[i] += float64(weight[at]) * float64(x[int(index[at])*cols+i%cols])
					}
				}
				Gather(threads, rows, cols, 3, dst, x, index, weight, residual)
				near(t, fmt.Sprintf("%v gathered on %d threads", s, threads), dst, want)

				x = normal(r, 2*rows*cols)
				kept := slices.Clone(x)
				for _, limited := range []bool{false, true} {
					g := Gate{Unary: simd.TanhVec, Kernel: simd.KernelTanhVec}
					if limited {
						g.Sharpness, g.Limit, g.Offset = 2, 0.75, 1
					}
					for i := range want {
						gate, up := float64(x[i/cols*2*cols+i%cols]), float64(x[i/cols*2*cols+cols+i%cols])
						want[i] = math.Tanh(gate) * up
						if limited {
							want[i] = math.Tanh(2*min(gate, 0.75)) / 2 * (max(min(up, 0.75), -0.75) + 1)
						}
					}
					GLU(threads, rows, cols, dst, x, g)
					near(t, fmt.Sprintf("%v gated on %d threads, limited %v", s, threads, limited), dst, want)
					if !slices.Equal(x, kept) {
						t.Fatalf("%v on %d threads: x was written", s, threads)
					}
				}
			}
		}
	})
}

// TestMaskedRows compares rows under terms of each kind with their definition. Hidden columns are
// 0, next to a NaN too.
func TestMaskedRows(t *testing.T) {
	smallParts(t)
	eachISA(t, func(t *testing.T) {
		const batch, heads, lenQ, lenK, past = 2, 2, 5, 40, 30
		r := rand.New(rand.NewPCG(9, 10))
		rows := batch * heads * lenQ
		keep := make([]bool, lenQ*lenK)
		for i := range keep {
			keep[i] = i/lenK != 3 && r.IntN(4) > 0 // query 3 sees no key
		}
		bias, slopes, lengths := normal(r, lenK), []float32{0.5, 0.25}, []int{lenK - 5, lenK}
		terms := []mask.Term{
			{Kind: mask.Window, Before: 33, After: 2}, {Kind: mask.Keep, Keep: keep, Shape: [4]int{1, 1, lenQ, lenK}},
			{Kind: mask.Bias, Bias: bias, Shape: [4]int{1, 1, 1, lenK}}, {Kind: mask.ALiBi, Bias: slopes}, {Kind: mask.Lengths, Lengths: lengths},
		}
		x := normal(r, rows*lenK)
		x[4*lenK+7] = float32(math.NaN()) // row 4 is query 4 of head 0 of sequence 0
		visible := func(row, k int) bool {
			b, q := row/lenQ/heads, row%lenQ
			return q+past-k <= 33 && k-q-past <= 2 && keep[q*lenK+k] && k < lengths[b]
		}
		keep[4*lenK+7] = true
		want, bias64 := make([]float64, len(x)), make([]float64, len(x))
		for i := range bias64 {
			row, k := i/lenK, i%lenK
			bias64[i] = float64(bias[k]) - float64(slopes[row/lenQ%heads])*math.Abs(float64(row%lenQ+past-k))
		}
		ref.MaskedSoftmax(want, ref.Widen(x), rows, lenK, 0.5, bias64, visible)
		for _, threads := range []int{1, 3} {
			m := NewMasked()
			m.Dst, m.X, m.Batch, m.Heads, m.LenQ, m.LenK, m.Scale, m.Past = make([]float32, len(x)), x, batch, heads, lenQ, lenK, 0.5, past
			m.Mask = append(m.Mask, terms...)
			dst := m.Dst
			m.Run(threads)
			for i, got := range dst {
				row, k := i/lenK, i%lenK
				switch {
				case !visible(row, k):
					if got != 0 {
						t.Fatalf("row %d: hidden column %d is %v", row, k, got)
					}
				case row == 4:
					if got == got {
						t.Fatalf("row with NaN: column %d is %v", k, got)
					}
				case math.Abs(float64(got)-want[i]) > 1e-6:
					t.Fatalf("row %d on %d threads: column %d is %v, want %v", row, threads, k, got, want[i])
				}
			}
		}
	})
}

// TestSignsAndElements compares dot products of signs, and functions of elements, with their
// definitions.
func TestSignsAndElements(t *testing.T) {
	smallParts(t)
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		const m, words = 3, 2
		n := 5 * simd.SignPanel
		for _, threads := range []int{1, 3} {
			a, b := make([]int32, m*words), make([]int32, n*words)
			for i := range a {
				a[i] = int32(r.Uint32())
			}
			for i := range b {
				b[i] = int32(r.Uint32())
			}
			c := make([]float32, m*n)
			SignDots(threads, Signs{M: m, N: n, Dim: 32 * words, Words: words, A: a, LdA: m, B: b, C: c, LdC: n})
			for i := range m {
				for j := range n {
					want := 32 * words
					for w := range words {
						want -= 2 * bits.OnesCount32(uint32(a[w*m+i]^b[(j/simd.SignPanel*words+w)*simd.SignPanel+j%simd.SignPanel]))
					}
					if c[i*n+j] != float32(want) {
						t.Fatalf("vectors %d and %d: %v, want %d", i, j, c[i*n+j], want)
					}
				}
			}
			for _, size := range []int{1, 300, 40_000} {
				x, y, dst, want := normal(r, size), normal(r, size), make([]float32, size), make([]float64, size)
				Unary(threads, simd.TanhVec, simd.KernelTanhVec, dst, x)
				ref.Map(want, ref.Widen(x), math.Tanh)
				near(t, "tanh", dst, want)
				Binary(threads, simd.MulVec, simd.KernelMulVec, dst, x, y)
				for i := range want {
					want[i] = float64(x[i]) * float64(y[i])
				}
				near(t, "product", dst, want)
				Scaled(threads, simd.ScaleVec, simd.KernelScaleVec, 3, dst, x)
				for i := range want {
					want[i] = 3 * float64(x[i])
				}
				near(t, "scaled", dst, want)
			}
		}
	})
}
