package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/par"
)

// mMaxRows is more than the rows of any matrix.
const mMaxRows = mem.MaxInt / 2

// TestGemmGrouped expects the bits of GemmPacked for each group, on any number of threads, with and
// without a bias, also with groups that are empty or have no elements.
func TestGemmGrouped(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(par.Stop)
	formats := []Format{FormatF32, FormatBF16, FormatInt8, FormatQ4_K, FormatMXFP4}
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(41, 42))
		for _, s := range []struct {
			n, k int
			rows []int
		}{{0, 32, []int{1, 2}}, {5, 0, []int{1, 2}}, {7, 256, []int{0, 0}}, {7, 256, nil}, {33, 256, []int{1, 0, 2, 19, 1, 0}}, {96, 512, []int{0, 70, 1, 3}}} {
			for _, f := range formats {
				total, lda, ldc := 0, s.k+3, s.n+5
				p := GemmGroupedParams{LdA: lda, LdC: ldc}
				for _, rows := range s.rows {
					w := randomSlice(r, s.n*s.k)
					total += rows
					p.Ends, p.Bias = append(p.Ends, total), append(p.Bias, randomSlice(r, s.n))
					p.B = append(p.B, PackBRows(f, s.n, s.k, func(j int, dst []float32) { copy(dst, w[j*s.k:]) }))
				}
				p.A = randomSlice(r, total*lda)
				for _, bias := range [][][]float32{p.Bias, nil} {
					p.Bias = bias
					want := make([]float32, total*ldc)
					from := 0
					for i, end := range p.Ends {
						var ep Epilogue
						if bias != nil {
							ep.Bias = bias[i]
						}
						GemmPacked(end-from, 1, p.A[from*lda:], lda, p.B[i], 0, want[from*ldc:], ldc, ep)
						from = end
					}
					for _, threads := range []Threads{1, 2, 3} {
						p.C = make([]float32, len(want))
						threads.GemmGrouped(p)
						if !slices.Equal(p.C, want) {
							t.Fatalf("%v, %d groups of %dx%d, bias %t, %d threads: not the bits of GemmPacked", f, len(s.rows), s.k, s.n, bias != nil, threads)
						}
					}
				}
			}
		}
	})
}

// TestGather compares with the sum in float64, and expects copies where rows are only copied.
func TestGather(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(par.Stop)
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(43, 44))
		for _, s := range [][3]int{{0, 5, 1}, {4, 0, 2}, {1, 1, 0}, {3, 17, 0}, {3, 17, 1}, {5, 33, 4}, {301, 515, 3}} {
			rows, cols, n := s[0], s[1], s[2]
			x := randomSlice(r, 7*cols)
			index := make([]int32, rows*n)
			for i := range index {
				index[i] = int32(r.IntN(7))
			}
			for _, weight := range [][]float32{nil, randomSlice(r, len(index))} {
				for _, residual := range [][]float32{nil, randomSlice(r, rows*cols)} {
					for _, threads := range []Threads{1, 3} {
						for _, inPlace := range []bool{false, true} {
							p := GatherParams{Rows: rows, Cols: cols, Dst: make([]float32, rows*cols), X: x, Index: index, Weight: weight, Residual: residual}
							mem.Fill(p.Dst, nan32)
							if inPlace && residual != nil {
								copy(p.Dst, residual)
								p.Residual = p.Dst
							}
							threads.Gather(p)
							for i := range rows * cols {
								want := 0.0
								if residual != nil {
									want = float64(residual[i])
								}
								for j := i / cols * n; j < (i/cols+1)*n; j++ {
									v := float64(x[int(index[j])*cols+i%cols])
									if weight != nil {
										v *= float64(weight[j])
									}
									want += v
								}
								bound := 1e-6
								if n == 1 && weight == nil && residual == nil {
									bound = 0
								}
								if !(math.Abs(float64(p.Dst[i])-want) <= bound*(1+math.Abs(want))) {
									t.Fatalf("%v, weights %t, residual %t: element %d is %v, want %v", s, weight != nil, residual != nil, i, p.Dst[i], want)
								}
							}
						}
					}
				}
			}
		}
	})
}

// TestGLU compares with the formula in float64, with gates and ups that are limited, infinite and
// NaN.
func TestGLU(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(par.Stop)
	activations := map[Activation]func(x float64) float64{
		ActReLU:     func(x float64) float64 { return max(x, 0) },
		ActGELU:     func(x float64) float64 { return x * 0.5 * math.Erfc(-x/math.Sqrt2) },
		ActGELUTanh: func(x float64) float64 { return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) },
		ActSiLU:     func(x float64) float64 { return x / (1 + math.Exp(-x)) },
		ActTanh:     math.Tanh,
		ActReLU2:    func(x float64) float64 { return max(x, 0) * max(x, 0) },
	}
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(45, 46))
		for _, s := range [][2]int{{0, 3}, {2, 0}, {1, 1}, {2, 15}, {3, 17}, {2, 9001}, {301, 130}} {
			rows, cols := s[0], s[1]
			x := randomSlice(r, 2*rows*cols)
			if rows == 3 { // far beyond the limit, and infinite
				for i, v := range []float32{9, -9, 1e30, -1e30, float32(math.Inf(1)), nan32} {
					x[i], x[2*cols+cols+i] = v, v
				}
			}
			for act, f := range activations {
				for _, p := range []GLUParams{{}, {Limit: 0.5}, {Sharpness: 1.702, Limit: 7, Offset: 1}, {Offset: 1}, {Offset: -0.5}} {
					p.Rows, p.Cols, p.X, p.Activation = rows, cols, slices.Clone(x), act
					p.Dst = make([]float32, rows*cols)
					serial := slices.Clone(p.Dst)
					Threads(3).GLU(p)
					for i := range p.Dst {
						gate, up := float64(x[i/cols*2*cols+i%cols]), float64(x[i/cols*2*cols+cols+i%cols])
						if p.Limit > 0 {
							gate, up = min(gate, float64(p.Limit)), max(min(up, float64(p.Limit)), -float64(p.Limit))
						}
						up += float64(p.Offset)
						sharp := 1.0
						if p.Sharpness > 0 {
							sharp = float64(p.Sharpness)
						}
						want, got := f(sharp*gate)/sharp*up, float64(p.Dst[i])
						if math.IsInf(gate, 0) && gate < 0 || math.Abs(gate) > 1e29 || math.Abs(up) > 1e29 {
							want = got // outside the range of the formulas here
						}
						if !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want))) && !(math.IsNaN(got) && math.IsNaN(want)) && got != want {
							t.Fatalf("%v, %+v: element %d is %v, want %v", s, fmt.Sprint(act, p.Limit, p.Sharpness, p.Offset), i, got, want)
						}
					}
					if !slices.EqualFunc(p.X, x, func(a, b float32) bool { return a == b || a != a && b != b }) {
						t.Fatalf("%v: X was written", s)
					}
					threaded := p.Dst
					p.Dst = serial
					GLU(p)
					if !slices.EqualFunc(p.Dst, threaded, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
						t.Fatalf("%v: other bits on three threads", s)
					}
				}
			}
		}
	})
}
