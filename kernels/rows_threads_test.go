package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
)

// TestRowsThreads expects the same bits from any number of threads.
func TestRowsThreads(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	sizes, counts := [][2]int{{0, 5}, {1, 3}, {3, 0}, {700, 129}, {5, 10000}, {3, 20000}, {1, 50257}, {40000, 1}}, []Threads{0, 2, 3}
	if testenv.Slow() {
		sizes, counts = [][2]int{{0, 5}, {1, 3}, {3, 0}, {300, 129}, {1, 50257}}, []Threads{3}
	}
	for _, s := range sizes {
		rows, cols := s[0], s[1]
		n := rows * cols
		x, residual := randomSlice(r, n), randomSlice(r, n)
		weight, bias := randomSlice(r, cols), randomSlice(r, cols)
		lengths := make([]int, rows)
		for i := range lengths {
			lengths[i] = r.IntN(cols + 2)
		}
		masked := SoftmaxParams{Batch: 1, Heads: 1, LenQ: rows, LenK: cols, X: x, Scale: 0.5, Past: 20, Mask: []MaskTerm{
			BiasMask(residual, 1, 1, rows, cols), KeepMask(randomBools(r, n, 0.8), 1, 1, rows, cols), CausalMask(), QueryLengthMask(lengths)}}
		for name, f := range map[string]func(t Threads, dst []float32){
			"Softmax":    func(t Threads, dst []float32) { t.Softmax(dst, x, rows, cols) },
			"LogSoftmax": func(t Threads, dst []float32) { t.LogSoftmax(dst, x, rows, cols) },
			"LayerNorm":  func(t Threads, dst []float32) { t.LayerNorm(dst, x, rows, cols, weight, nil, 1e-5) },
			"AddLayerNorm": func(t Threads, dst []float32) {
				t.AddLayerNorm(dst, nil, x, residual, rows, cols, nil, bias, 1e-5)
			},
			"RMSNorm": func(t Threads, dst []float32) { t.RMSNorm(dst, x, rows, cols, weight, 1e-5) },
			"AddRMSNorm": func(t Threads, dst []float32) {
				t.AddRMSNorm(dst, nil, x, residual, rows, cols, weight, 1e-5)
			},
			"MaskedSoftmax": func(t Threads, dst []float32) {
				p := masked
				p.Dst = dst
				t.MaskedSoftmax(p)
			},
			"GELU":     func(t Threads, dst []float32) { t.GELU(dst, x) },
			"GELUTanh": func(t Threads, dst []float32) { t.GELUTanh(dst, x) },
			"SiLU":     func(t Threads, dst []float32) { t.SiLU(dst, x) },
			"Exp":      func(t Threads, dst []float32) { t.Exp(dst, x) },
			"ReLU":     func(t Threads, dst []float32) { t.ReLU(dst, x) },
			"Sigmoid":  func(t Threads, dst []float32) { t.Sigmoid(dst, x) },
			"Tanh":     func(t Threads, dst []float32) { t.Tanh(dst, x) },
			"Softplus": func(t Threads, dst []float32) { t.Softplus(dst, x) },
			"Erf":      func(t Threads, dst []float32) { t.Erf(dst, x) },
			"Add":      func(t Threads, dst []float32) { t.Add(dst, x, residual) },
			"Mul":      func(t Threads, dst []float32) { t.Mul(dst, x, residual) },
			"Scale":    func(t Threads, dst []float32) { t.Scale(dst, x, 3) },
			"AXPY":     func(t Threads, dst []float32) { t.AXPY(3, x, dst) },
		} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, rows, cols), func(t *testing.T) {
				want, got := make([]float32, n), make([]float32, n)
				f(1, want)
				for _, threads := range counts {
					clear(got)
					if f(threads, got); !slices.Equal(got, want) {
						t.Errorf("%d threads give other results than one", threads)
					}
				}
			})
		}
	}
}

// TestRowsThreadsAllocations: a call on several threads allocates nothing.
func TestRowsThreadsAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("under the race detector sync.Pool forgets at random")
	}
	const rows, cols = 400, 128 // or a single row of all elements
	runs := 50
	if testenv.Slow() {
		runs = 3
	}
	x, dst := make([]float32, rows*cols), make([]float32, rows*cols)
	causal := []MaskTerm{CausalMask()}
	for name, f := range map[string]func(t Threads){
		"Softmax":                  func(t Threads) { t.Softmax(dst, x, rows, cols) },
		"Softmax of a long row":    func(t Threads) { t.Softmax(dst, x, 1, rows*cols) },
		"LogSoftmax of a long row": func(t Threads) { t.LogSoftmax(dst, x, 1, rows*cols) },
		"MaskedSoftmax": func(t Threads) {
			t.MaskedSoftmax(SoftmaxParams{Batch: 1, Heads: 1, LenQ: rows, LenK: cols, Dst: dst, X: x, Mask: causal})
		},
		"AddLayerNorm": func(t Threads) { t.AddLayerNorm(dst, nil, x, x, rows, cols, nil, nil, 1e-5) },
		"AddRMSNorm":   func(t Threads) { t.AddRMSNorm(dst, nil, x, x, rows, cols, nil, 1e-5) },
		"GELU":         func(t Threads) { t.GELU(dst, x) },
		"Add":          func(t Threads) { t.Add(dst, x, x) },
	} {
		for _, threads := range []Threads{1, 2} {
			if n := testing.AllocsPerRun(runs, func() { f(threads) }); n >= 1 {
				t.Errorf("%s on %d threads: %v allocations a call, want 0", name, threads, n)
			}
		}
	}
}
