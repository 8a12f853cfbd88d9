package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNormsStop puts a row whose variance is not usual at each place among other rows. Every
// implementation stops there: it returns the number of rows left, its results for the rows before
// have the twin's bits, and it has written the sum of the row at which it stopped, but no result or
// sum after it.
func TestNormsStop(t *testing.T) {
	const canary = 12345
	inf := float32(math.Inf(1))
	far := map[string]func(i int) float32{
		"small": func(i int) float32 { return 1e-20 * float32(1+i%3) },
		"large": func(i int) float32 { return 1e25 * float32(1-i%3) },
		"zero":  func(int) float32 { return 0 },
		"inf":   func(i int) float32 { return []float32{inf, 1}[min(i, 1)] },
		"NaN":   func(i int) float32 { return []float32{float32(math.NaN()), 1}[min(i, 1)] },
	}
	for _, im := range catalog() {
		k := im.kernel
		if !im.runs() || !slices.Contains([]Kernel{KernelLayerNormRows, KernelAddLayerNormRows, KernelRMSNormRows, KernelAddRMSNormRows}, k) {
			continue
		}
		adds := k == KernelAddLayerNormRows || k == KernelAddRMSNormRows
		// call returns what an implementation writes to dst and sum, and what it returns.
		call := func(fn any, x, weight, bias []float32, rows, cols int) (dst, sum []float32, left int) {
			dst, sum = make([]float32, len(x)), make([]float32, len(x))
			for i := range dst {
				dst[i], sum[i] = canary, canary
			}
			half := make([]float32, len(x))
			for i, v := range x {
				half[i] = v / 2
			}
			switch f := fn.(type) {
			case func(dst, x, weight, bias []float32, rows, cols int, eps float32, stream int) int:
				left = f(dst, x, weight, bias, rows, cols, 0, rows%2)
			case func(dst, x, weight []float32, rows, cols int, eps float32) int:
				left = f(dst, x, weight, rows, cols, 0)
			case func(dst, sum, x, residual, weight, bias []float32, rows, cols int, eps float32) int:
				left = f(dst, sum, half, half, weight, bias, rows, cols, 0)
			case func(dst, sum, x, residual, weight []float32, rows, cols int, eps float32) int:
				left = f(dst, sum, half, half, weight, rows, cols, 0)
			default:
				t.Fatalf("%v: no call of %T", k, fn)
			}
			return dst, sum, left
		}
		r := rand.New(rand.NewPCG(1, uint64(k)))
		for _, cols := range []int{3, 16, 67, 512, 1030} {
			for rows := 1; rows <= 5; rows++ {
				for at := range rows + 1 { // the last one: no such row
					for name, number := range far {
						x, weight, bias := make([]float32, rows*cols), make([]float32, cols), make([]float32, cols)
						for _, s := range [][]float32{x, weight, bias} {
							for i := range s {
								s[i] = float32(r.NormFloat64())
							}
						}
						if at < rows {
							for i := range cols {
								x[at*cols+i] = number(i)
							}
						}
						dst, sum, left := call(im.fn, x, weight, bias, rows, cols)
						want, _, _ := call(functions[k][len(functions[k])-1], x[:at*cols], weight, bias, at, cols)
						if left != rows-at {
							t.Fatalf("%s, %s row %d of %d x %d: %d rows are left, want %d", im.Name, name, at, rows, cols, left, rows-at)
						}
						sums := x[:min(at+1, rows)*cols]
						for i, v := range dst {
							w := float32(canary)
							if i < len(want) {
								w = want[i]
							}
							if v != w {
								t.Fatalf("%s, %s row %d of %d x %d: element %d of dst is %v, want %v", im.Name, name, at, rows, cols, i, v, w)
							}
						}
						for i, v := range sum {
							w := float32(canary)
							if i < len(sums) && adds {
								w = sums[i]/2 + sums[i]/2
							}
							if math.Float32bits(v) != math.Float32bits(w) && (v == v || w == w) {
								t.Fatalf("%s, %s row %d of %d x %d: element %d of sum is %v, want %v", im.Name, name, at, rows, cols, i, v, w)
							}
						}
					}
				}
			}
		}
	}
}
