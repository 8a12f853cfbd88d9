package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/row"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/ref"
)

// Tests of LayerNorm, AddLayerNorm, RMSNorm and AddRMSNorm.

// layerNormBound returns the bound in LayerNorm's comment for one element. roundings is the sum of
// the roundings of the row's sums.
func layerNormBound(roundings, want, x, mean, rstd, weight float64) float64 {
	z := math.Abs(x-mean) * rstd
	return 0x1p-22*(math.Abs(want)+math.Abs(weight)*(roundings*(1+2*z)+0x1p-16*math.Abs(mean)*rstd)) + 0x1p-126
}

const averagedOut = 1 // the roundings of sums of random numbers

func atWorst(cols int) float64 { return 1 + float64(cols)/16 }

func TestLayerNorm(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, cols := range rowLengths() {
			const rows = 3
			for _, eps := range []float32{1e-5, 1e-12} {
				for _, affine := range []string{"both", "weight", "bias", "none"} {
					x := hardRows(r, rows, cols, 2)
					residual := randomSlice(r, rows*cols)
					weight, bias := randomSlice(r, cols), randomSlice(r, cols)
					if affine == "bias" || affine == "none" {
						weight = nil
					}
					if affine == "weight" || affine == "none" {
						bias = nil
					}
					checkLayerNorm(t, averagedOut, x, residual, rows, cols, weight, bias, eps)
				}
			}
		}
	})
}

func widenOrNil(x []float32) []float64 {
	if x == nil {
		return nil
	}
	return ref.Widen(x)
}

func checkLayerNorm(t *testing.T, roundings float64, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	t.Helper()
	w, b := widenOrNil(weight), widenOrNil(bias)
	compare := func(what string, got []float32, in []float32) {
		t.Helper()
		wide := ref.Widen(in)
		want := make([]float64, len(in))
		ref.LayerNorm(want, wide, rows, cols, w, b, float64(eps))
		var mean, square float64
		for i := range got {
			if i%cols == 0 {
				row := wide[i : i+cols]
				mean, square = 0, 0
				for _, v := range row {
					mean += v / float64(cols)
				}
				for _, v := range row {
					square += (v - mean) * (v - mean) / float64(cols)
				}
			}
			scale := 1.0
			if w != nil {
				scale = w[i%cols]
			}
			bound := layerNormBound(roundings, want[i], wide[i], mean, 1/math.Sqrt(square+float64(eps)), scale)
			if e := math.Abs(float64(got[i]) - want[i]); !(e <= bound) {
				t.Fatalf("%s cols=%d eps=%g [%d,%d]: %v, want %v: off by %.3g, bound %.3g", what, cols, eps, i/cols, i%cols, got[i], want[i], e, bound)
			}
		}
	}
	dst := make([]float32, len(x))
	LayerNorm(dst, x, rows, cols, weight, bias, eps)
	compare("LayerNorm", dst, x)
	same := append([]float32(nil), x...)
	LayerNorm(same, same, rows, cols, weight, bias, eps)
	compare("LayerNorm in place", same, x)

	added := make([]float32, len(x))
	for i := range x {
		added[i] = x[i] + residual[i]
	}
	sum := make([]float32, len(x))
	AddLayerNorm(dst, sum, x, residual, rows, cols, weight, bias, eps)
	for i := range sum {
		if sum[i] != added[i] {
			t.Fatalf("AddLayerNorm: sum[%d] = %v, want %v", i, sum[i], added[i])
		}
	}
	compare("AddLayerNorm", dst, added)
	AddLayerNorm(dst, nil, x, residual, rows, cols, weight, bias, eps)
	compare("AddLayerNorm without sum", dst, added)
	same = append(same[:0], x...)
	AddLayerNorm(same, same, same, residual, rows, cols, weight, bias, eps)
	compare("AddLayerNorm in place", same, added)

	checkRMSNorm(t, "RMSNorm", dst, x, rows, cols, weight, eps, func() { RMSNorm(dst, x, rows, cols, weight, eps) })
	checkRMSNorm(t, "AddRMSNorm", dst, added, rows, cols, weight, eps, func() { AddRMSNorm(dst, sum, x, residual, rows, cols, weight, eps) })
	for i := range sum {
		if sum[i] != added[i] {
			t.Fatalf("AddRMSNorm: sum[%d] = %v, want %v", i, sum[i], added[i])
		}
	}
	checkRMSNorm(t, "AddRMSNorm without sum", dst, added, rows, cols, weight, eps, func() { AddRMSNorm(dst, nil, x, residual, rows, cols, weight, eps) })
	same = append(same[:0], x...)
	checkRMSNorm(t, "AddRMSNorm in place", same, added, rows, cols, weight, eps, func() { AddRMSNorm(same, same, same, residual, rows, cols, weight, eps) })
}

// checkRMSNorm runs f, which must set got to the RMSNorm of x.
func checkRMSNorm(t *testing.T, what string, got, x []float32, rows, cols int, weight []float32, eps float32, f func()) {
	t.Helper()
	want := ref.Widen(x)
	ref.RMSNorm(want, want, rows, cols, widenOrNil(weight), float64(eps))
	f()
	// Each of at least four lanes sums cols/4 squares, with one rounding per step; the root halves
	// the error. Eight more roundings make up the rest.
	relative := (float64(cols)/8 + 8) * 0x1p-24
	for i, got := range got {
		if e := math.Abs(float64(got) - want[i]); !(e <= relative*math.Abs(want[i])+0x1p-126) {
			t.Fatalf("%s cols=%d [%d,%d]: %v, want %v: off by %.3g", what, cols, i/cols, i%cols, got, want[i], e)
		}
	}
}

// TestNormsOfLongRows has the longest row that the assembly takes, and longer ones, which are cut.
func TestNormsOfLongRows(t *testing.T) {
	if testenv.Slow() {
		t.Skip("too many elements, of which each row is one thread's")
	}
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(37, 38))
		for _, cols := range []int{row.NormElements, row.NormElements + 1, 3*row.NormElements + 5} {
			weight, bias := randomSlice(r, cols), randomSlice(r, cols)
			residual := randomSlice(r, 2*cols)
			for _, first := range []float32{0, -3, 1e4, 1e12} {
				x := hardRows(r, 2, cols, 2)
				x[0] += first
				roundings := float64(averagedOut)
				switch {
				case first != 0 && cols > row.NormElements:
					roundings = atWorst(row.SumElements)
				case first != 0:
					roundings = atWorst(cols)
				}
				checkLayerNorm(t, roundings, x, residual, 2, cols, weight, bias, 1e-5)
			}
			// Without deviation, and with NaN or infinities.
			x, dst := zeros(2*cols), zeros(2*cols)
			mem.Fill(x, 0.1)
			x[cols+cols/2] = inf32
			LayerNorm(dst, x, 2, cols, weight, bias, 1e-5)
			for i, v := range dst {
				if i < cols && v != bias[i] || i >= cols && v == v {
					t.Fatalf("cols=%d: [%d,%d] = %v, want the bias %v in row 0, NaN in row 1", cols, i/cols, i%cols, v, bias[i%cols])
				}
			}
		}
	})
}

// TestLayerNormFarStart has rows that begin far from their mean: their first elements are the guess
// of the mean on tiers with vectors.
func TestLayerNormFarStart(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(25, 26))
		for _, cols := range []int{15, 16, 17, 40, 60, 300, 768, 4096} {
			weight, bias := randomSlice(r, cols), randomSlice(r, cols)
			for _, far := range []float32{1.5, -3, 100, -1e4, -1e6, 1e12} {
				for _, rows := range []int{1, 4} {
					x := aligned(rows * cols)
					copy(x, randomSlice(r, rows*cols))
					for i := range x {
						if i%cols < 16 {
							x[i] += far
						}
					}
					checkLayerNorm(t, atWorst(cols), x, make([]float32, rows*cols), rows, cols, weight, bias, 1e-5)
					want := make([]float32, rows*cols)
					LayerNorm(want, x, rows, cols, weight, bias, 1e-5)
					half, added, sum := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
					for i, v := range x {
						half[i] = v / 2
					}
					simd.AddLayerNormRows(simd.Active(), added, sum, half, half, weight, bias, rows, cols, 1e-5)
					if !slices.Equal(added, want) || !slices.Equal(sum, x) {
						t.Fatalf("cols=%d: of a sum, results are others", cols)
					}
					simd.LayerNormRows(simd.Active(), x, x, weight, bias, rows, cols, 1e-5, 1)
					if !slices.Equal(x, want) {
						t.Fatalf("cols=%d: written past the caches, results are others", cols)
					}
				}
			}
		}
	})
}

// TestLayerNormHard has means far above the standard deviation, and rows without deviation.
func TestLayerNormHard(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 10))
		for _, cols := range []int{1, 2, 7, 8, 16, 33, 256, 768} {
			weight, bias := randomSlice(r, cols), randomSlice(r, cols)
			for _, mean := range []float32{0, 1, 1e4, -1e4, 1.0 / 3} {
				for _, scale := range []float32{0, 1e-6, 1e-3, 1} {
					x := randomSlice(r, cols)
					for i := range x {
						x[i] = mean + scale*x[i]
					}
					for _, eps := range []float32{1e-5, 1e-12} {
						checkLayerNorm(t, averagedOut, x, make([]float32, cols), 1, cols, weight, bias, eps)
					}
				}
			}
		}
	})
}

// TestLayerNormUnderflow has weights and biases so small that results are denormal.
func TestLayerNormUnderflow(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(71, 72))
		for range 200 {
			n := 1 + r.IntN(100)
			x, w, b := randomSlice(r, n), randomSlice(r, n), randomSlice(r, n)
			size := float32(math.Ldexp(1, -126-r.IntN(22)))
			for i := range w {
				w[i] *= size
				b[i] *= size
			}
			dst, want := make([]float32, n), make([]float64, n)
			LayerNorm(dst, x, 1, n, w, b, 1)
			ref.LayerNorm(want, ref.Widen(x), 1, n, ref.Widen(w), ref.Widen(b), 1)
			for i, y := range dst {
				bound := 0x1p-22*(math.Abs(want[i])+math.Abs(float64(w[i]))) + 0x1p-149
				if off := math.Abs(float64(y) - want[i]); !(off <= bound) {
					t.Fatalf("%d elements, weights of %g: element %d is %g, want %g within %g", n, size, i, y, want[i], bound)
				}
			}
		}
	})
}
