package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/row"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// Helpers of the tests of row functions.

var (
	inf32 = float32(math.Inf(1))
	nan32 = float32(math.NaN())
)

// ulp32 returns the distance between float32 numbers around x, or between denormal numbers if x is
// below the normal numbers.
func ulp32(x float64) float64 {
	if x == 0 {
		return 0x1p-149
	}
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-24, -149))
}

// rowLengths has every length up to four vectors and some longer ones.
func rowLengths() []int {
	var n []int
	for i := 1; i <= 67; i++ {
		n = append(n, i)
	}
	return append(n, 96, 127, 128, 129, 255, 511, 768, 1000)
}

// hardRows returns rows x cols of normally distributed numbers with scale, and an offset that
// changes from row to row.
func hardRows(r *rand.Rand, rows, cols int, scale float64) []float32 {
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = float32(scale*r.NormFloat64()) + float32(100*(i/cols))
	}
	return x
}

// inPlaceToo calls f with a separate destination and with x itself.
func inPlaceToo(t *testing.T, x []float32, f func(t *testing.T, dst, x []float32)) {
	for _, inPlace := range []bool{false, true} {
		t.Run(fmt.Sprintf("inPlace=%v", inPlace), func(t *testing.T) {
			in := append([]float32(nil), x...)
			dst := make([]float32, len(x))
			for i := range dst {
				dst[i] = nan32
			}
			if inPlace {
				dst = in
			}
			f(t, dst, in)
			for i := range x {
				if !inPlace && in[i] != x[i] {
					t.Fatalf("x[%d] changed from %v to %v", i, x[i], in[i])
				}
			}
		})
	}
}

// aligned returns a slice that begins with a cache line.
func aligned(n int) []float32 {
	s := make([]float32, n+15)
	for uintptr(unsafe.Pointer(&s[0]))%64 != 0 {
		s = s[1:]
	}
	return s[:n]
}

// TestRowsAnywhere: no bit of the result depends on where rows begin, which decides how they are
// cut into vectors, or on whether the result is written past the caches, and nothing is written
// next to it.
func TestRowsAnywhere(t *testing.T) {
	const rows, eps = 4, 1e-5
	lengths := []int{255, 256, 257, 263, 264, 271, 272, 273, 280, 289, 511, 512, 513, 520, 527, 528, 1023, 1032, 8192, 8200, 8209}
	for n := range 200 {
		lengths = append(lengths, n+1)
	}
	if testenv.Slow() {
		lengths = []int{31, 161, 177, 257, 272, 280, 513, 520}
	}
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(43, 44))
		for _, cols := range lengths {
			n := rows * cols
			weight, bias, zero := randomSlice(r, cols), randomSlice(r, cols), make([]float32, n)
			x := aligned(n)
			for i := range x {
				x[i] = 20 * (r.Float32() - 0.5)
			}
			for _, same := range [][]func(dst, x []float32){
				{
					func(dst, x []float32) { Softmax(dst, x, rows, cols) },
					func(dst, x []float32) {
						if cols <= row.SoftmaxPiece {
							simd.SoftmaxRows(simd.Active(), dst, x, make([]float32, cols+row.TwoVectors), rows, cols, 1)
						} else {
							Softmax(dst, x, rows, cols)
						}
					},
				},
				{
					func(dst, x []float32) { LayerNorm(dst, x, rows, cols, weight, bias, eps) },
					func(dst, x []float32) { simd.LayerNormRows(simd.Active(), dst, x, weight, bias, rows, cols, eps, 1) },
					func(dst, x []float32) { AddLayerNorm(dst, nil, x, zero, rows, cols, weight, bias, eps) },
				},
				{
					func(dst, x []float32) { RMSNorm(dst, x, rows, cols, weight, eps) },
					func(dst, x []float32) { AddRMSNorm(dst, nil, x, zero, rows, cols, weight, eps) },
				},
			} {
				want := aligned(n)
				same[0](want, x)
				for which, f := range same {
					for at := range 16 {
						for _, to := range []int{at, (at + 8) % 16, 3} { // dst may have another alignment than x
							from, into := aligned(n+16), aligned(n+16)
							mem.Fill(into, nan32)
							copy(from[at:], x)
							f(into[to:][:n], from[at:][:n])
							f(from[at:][:n], from[at:][:n])
							for i, v := range into {
								if in := i >= to && i < to+n; in && v != want[i-to] || !in && v == v {
									t.Fatalf("form %d, cols=%d: %d elements after the start of a line, to %d after one, element %d is %v, want %v", which, cols, at, to, i-to, v, want[max(0, min(i-to, n-1))])
								}
							}
							if !slices.Equal(from[at:][:n], want) {
								t.Fatalf("form %d, cols=%d: in place, %d elements after the start of a line, results are others", which, cols, at)
							}
						}
					}
				}
			}
		}
	})
}

// TestStreamed: calls on matrices that are written past the caches give the same results as in
// place, where they are not.
func TestStreamed(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("too many elements for an emulator; TestCatalog calls the kernels")
	}
	r := rand.New(rand.NewPCG(27, 28))
	sizes := []int{512, 1000, 1025}
	if testenv.Slow() {
		sizes = sizes[1:2]
	}
	for _, cols := range sizes {
		rows := (tune.Used.Rows.StreamElements + cols - 1) / cols
		n := rows * cols
		x, weight := randomSlice(r, n), randomSlice(r, cols)
		if dst := make([]float32, n); !row.Streamed(dst, x) || row.Streamed(x, x) {
			t.Fatal("the first call does not write past the caches, or that in place does")
		}
		eachISA(t, func(t *testing.T) {
			for name, f := range map[string]func(threads Threads, dst, x []float32){
				"Softmax":   func(threads Threads, dst, x []float32) { threads.Softmax(dst, x, rows, cols) },
				"LayerNorm": func(threads Threads, dst, x []float32) { threads.LayerNorm(dst, x, rows, cols, weight, nil, 1e-5) },
			} {
				want := slices.Clone(x)
				f(2, want, want)
				for _, threads := range []Threads{1, 2} {
					dst := make([]float32, n)
					if f(threads, dst, x); !slices.Equal(dst, want) {
						t.Errorf("%s of %d columns on %d threads gives other results than in place", name, cols, threads)
					}
				}
			}
		})
	}
}

func BenchmarkRows(b *testing.B) {
	for _, isa := range Supported() {
		r := rand.New(rand.NewPCG(1, 1))
		for _, c := range []struct {
			op         string
			rows, cols int
		}{
			{"Softmax", 64, 5}, {"Softmax", 1536, 128}, {"Softmax", 1, 32000}, {"Softmax", 12288, 512}, {"Softmax", 4096, 4096},
			{"LayerNorm", 10, 512}, {"LayerNorm", 128, 768}, {"LayerNorm", 512, 1024}, {"LayerNorm", 4096, 4096},
			{"GELU", 128, 3072}, {"GELUTanh", 128, 3072}, {"SiLU", 128, 3072}, {"Tanh", 128, 3072}, {"Exp", 128, 3072}, {"Erf", 128, 3072},
		} {
			b.Run(fmt.Sprintf("%s/%s/%dx%d", isa, c.op, c.rows, c.cols), func(b *testing.B) {
				defer simd.Use(simd.ISA(isa))()
				x, dst := randomSlice(r, c.rows*c.cols), make([]float32, c.rows*c.cols)
				w, bias := randomSlice(r, c.cols), randomSlice(r, c.cols)
				unary := map[string]func(dst, x []float32){"GELU": GELU, "GELUTanh": GELUTanh, "SiLU": SiLU, "Tanh": Tanh, "Exp": Exp, "Erf": Erf}[c.op]
				b.ResetTimer()
				for b.Loop() {
					switch {
					case c.op == "Softmax":
						Softmax(dst, x, c.rows, c.cols)
					case c.op == "LayerNorm":
						LayerNorm(dst, x, c.rows, c.cols, w, bias, 1e-5)
					default:
						unary(dst, x)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/elem")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
