package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRowsThreads asks for the same bits from any number of threads.
func TestRowsThreads(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, s := range [][2]int{{0, 5}, {1, 3}, {3, 0}, {700, 129}, {3, 20000}, {40000, 1}} {
		rows, cols := s[0], s[1]
		n := rows * cols
		x, residual := randomSlice(r, n), randomSlice(r, n)
		weight, bias := randomSlice(r, cols), randomSlice(r, cols)
		for name, f := range map[string]func(t Threads, dst []float32){
			"Softmax":    func(t Threads, dst []float32) { t.Softmax(dst, x, rows, cols) },
			"LogSoftmax": func(t Threads, dst []float32) { t.LogSoftmax(dst, x, rows, cols) },
			"LayerNorm":  func(t Threads, dst []float32) { t.LayerNorm(dst, x, rows, cols, weight, nil, 1e-5) },
			"AddLayerNorm": func(t Threads, dst []float32) {
				t.AddLayerNorm(dst, nil, x, residual, rows, cols, nil, bias, 1e-5)
			},
			"RMSNorm":  func(t Threads, dst []float32) { t.RMSNorm(dst, x, rows, cols, weight, 1e-5) },
			"GELU":     func(t Threads, dst []float32) { t.GELU(dst, x) },
			"GELUTanh": func(t Threads, dst []float32) { t.GELUTanh(dst, x) },
			"SiLU":     func(t Threads, dst []float32) { t.SiLU(dst, x) },
			"Exp":      func(t Threads, dst []float32) { t.Exp(dst, x) },
		} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, rows, cols), func(t *testing.T) {
				want, got := make([]float32, n), make([]float32, n)
				f(1, want)
				for _, threads := range []Threads{0, 2, 3} {
					clear(got)
					if f(threads, got); !slices.Equal(got, want) {
						t.Errorf("%d threads give other results than one", threads)
					}
				}
			})
		}
	}
}
