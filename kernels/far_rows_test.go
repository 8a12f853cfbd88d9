package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/row"
	"github.com/avoformer/avoformer/kernels/ref"
)

// TestNormsOfFarRows has rows near both ends of the range: their squares are infinite or lost. It
// compares them with float64, in which they are neither.
func TestNormsOfFarRows(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	rows := [][]float32{{3e19, -3e19, 1e19, 2e19}, {3e38, -3e38, 1e38, 2e38}, {3.4e38, -3.4e38}, {1e-25, 2e-25, -1e-25, 5e-26}, {3e38}, {1e-38, 2e-38, 3e-38}}
	lengths := []int{5, 16, 17, 33, 100, 521, row.NormElements + 5}
	if testenv.Slow() {
		lengths = []int{17, 100, 521}
	}
	for _, n := range lengths {
		for _, size := range []float64{0x1p127, 0x1p120, 0x1p100, 0x1p66, 0x1p62, 0x1p-50, 0x1p-60, 0x1p-80, 0x1p-110} {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(size * (2*r.Float64() - 1))
			}
			rows = append(rows, x)
			if n > 16 {
				y := slices.Clone(x)
				for i := range y { // nearly equal elements
					y[i] = float32(size * (1 + 1e-3*r.Float64()))
				}
				spike := make([]float32, n) // and few others
				spike[n/2], spike[3] = float32(size), float32(-size/3)
				beside := slices.Clone(x) // one that is far smaller than the others
				beside[5] = 0x1.8p-74
				rows = append(rows, y, spike, beside)
			}
		}
	}
	eachISA(t, func(t *testing.T) {
		for _, x := range rows {
			n := len(x)
			weight, bias := randomSlice(r, n), randomSlice(r, n)
			for _, eps := range []float32{1e-5, 0, 0x1p-120} {
				name := fmt.Sprintf("%d elements from %g on, eps %g", n, x[0], eps)
				for _, inPlace := range []bool{false, true} {
					dst := make([]float32, n)
					if inPlace {
						copy(dst, x)
						RMSNorm(dst, dst, 1, n, weight, eps)
					} else {
						RMSNorm(dst, x, 1, n, weight, eps)
					}
					want := make([]float64, n)
					ref.RMSNorm(want, ref.Widen(x), 1, n, ref.Widen(weight), float64(eps))
					for i, y := range dst {
						if off := math.Abs(float64(y) - want[i]); !(off <= (float64(min(n, row.SumElements))/8+8)*0x1p-24*math.Abs(want[i])+0x1p-149*(1+math.Abs(float64(weight[i])))) {
							t.Fatalf("RMSNorm of %s: element %d is %g, want %g", name, i, y, want[i])
						}
					}
				}
				if n == 1 && eps == 0 {
					continue // 0/0 in the definition; see TestNormsOfEqualElements
				}
				checkLayerNorm(t, averagedOut, x, make([]float32, n), 1, n, weight, bias, eps)
			}
		}
	})
}

// TestNormsOfEqualElements expects the bias for rows of equal elements, of any size and also
// without eps, and NaN for rows with an infinity.
func TestNormsOfEqualElements(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, n := range []int{1, 3, 16, 17, 40, 160, 600, row.NormElements + 1} {
			if n > 1000 && testenv.Slow() {
				continue
			}
			bias := slices.Repeat([]float32{0.75}, n)
			dst := make([]float32, n)
			for _, v := range []float32{0, 1, -3, 1e38, -3.4e38, 1e-30, 0x1p-149} {
				for _, eps := range []float32{0, 1e-5} {
					LayerNorm(dst, slices.Repeat([]float32{v}, n), 1, n, nil, bias, eps)
					if !slices.Equal(dst, bias) {
						t.Errorf("LayerNorm of %d elements %g with eps %g begins with %v, want the bias", n, v, eps, dst[:min(n, 4)])
					}
				}
			}
			RMSNorm(dst, make([]float32, n), 1, n, nil, 0)
			if !slices.Equal(dst, make([]float32, n)) {
				t.Errorf("RMSNorm of %d zeros without eps begins with %v, want zeros", n, dst[:min(n, 4)])
			}
			for at := range min(n, 20) {
				x := slices.Repeat([]float32{1}, n)
				x[at] = inf32
				for name, f := range map[string]func(){
					"RMSNorm":   func() { RMSNorm(dst, x, 1, n, nil, 1e-5) },
					"LayerNorm": func() { LayerNorm(dst, x, 1, n, nil, nil, 1e-5) },
				} {
					f()
					for i, y := range dst {
						if y == y {
							t.Fatalf("%s of %d elements with an infinity at %d: element %d is %v, want NaN", name, n, at, i, y)
						}
					}
				}
			}
		}
	})
}
