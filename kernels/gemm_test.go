package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// eachISA runs f as a subtest on every tier of this machine.
func eachISA(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	testenv.EachTier(t, simd.Supported(), simd.Active(), simd.Use, f)
}

func randomSlice(r *rand.Rand, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(r.NormFloat64())
	}
	return s
}

// shrinkBlocks makes the block sizes small, so that small matrices have many blocks and every kind
// of edge.
func shrinkBlocks(t *testing.T) {
	t.Helper()
	stretch, dots, size := order.Stretch, order.DotStretch, tune.Used.Gemm
	t.Cleanup(func() { order.Stretch, order.DotStretch, tune.Used.Gemm = stretch, dots, size })
	_, nr := simd.GemmTile(simd.Active())
	order.Stretch, order.DotStretch = 9, 11
	tune.Used.Gemm.MC, tune.Used.Gemm.NC, tune.Used.Gemm.PackRows = 17, 2*nr, 3
}

type gemmCase struct {
	m, n, k          int
	transA, transB   Transpose
	alpha, beta      float32
	padA, padB, padC int
}

func (c gemmCase) String() string {
	return fmt.Sprintf("%dx%dx%d/ta=%v/tb=%v/alpha=%v/beta=%v/pad=%d,%d,%d", c.m, c.n, c.k, c.transA, c.transB, c.alpha, c.beta, c.padA, c.padB, c.padC)
}

func gemmCases() []gemmCase {
	r := rand.New(rand.NewPCG(1, 2))
	var cases []gemmCase
	for _, m := range []int{1, 2, 5, 6, 7, 13, 14, 15, 29, 40} {
		for _, n := range []int{1, 3, 8, 15, 16, 17, 31, 32, 33, 70} {
			for _, k := range []int{1, 3, 4, 7, 19} {
				c := gemmCase{m: m, n: n, k: k, transA: r.IntN(2) == 0, transB: r.IntN(2) == 0,
					alpha: 1, padA: r.IntN(3), padB: r.IntN(3), padC: r.IntN(3)}
				if r.IntN(2) == 0 {
					c.alpha = float32(r.NormFloat64())
				}
				if r.IntN(2) == 0 {
					c.beta = float32(r.NormFloat64())
				}
				cases = append(cases, c)
			}
		}
	}
	return append(cases, gemmCase{m: 5, n: 4, k: 0, alpha: 1, beta: 0.5}, gemmCase{m: 5, n: 4, k: 3, alpha: 0, beta: 0},
		gemmCase{m: 1, n: 70, k: 40, alpha: 0, beta: 0.5}, gemmCase{m: 7, n: 35, k: 40, transB: true, alpha: 0, beta: 0.5})
}

// run makes the operands, multiplies with f, and compares the result with the oracle. C is full of
// NaN if beta is 0, A and B are if alpha is 0, and so is the padding of every row.
func (c gemmCase) run(t *testing.T, f func(a []float32, lda int, b []float32, ldb int, out []float32, ldc int)) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(c.m*1000+c.n), uint64(c.k)))
	rowsA, colsA := c.m, c.k
	if c.transA {
		rowsA, colsA = colsA, rowsA
	}
	rowsB, colsB := c.k, c.n
	if c.transB {
		rowsB, colsB = colsB, rowsB
	}
	nan := float32(math.NaN())
	matrix := func(rows, cols, ld int, dirty bool) []float32 {
		s := randomSlice(r, max(0, rows-1)*ld+cols)
		for i := range s {
			if dirty || i%ld >= cols {
				s[i] = nan
			}
		}
		return s
	}
	lda, ldb, ldc := max(1, colsA)+c.padA, max(1, colsB)+c.padB, c.n+c.padC
	a, b := matrix(rowsA, colsA, lda, c.alpha == 0), matrix(rowsB, colsB, ldb, c.alpha == 0)
	out := matrix(c.m, c.n, ldc, c.beta == 0)
	at := func(s []float32, ld int, trans Transpose, i, j int) float64 {
		if trans {
			i, j = j, i
		}
		return float64(s[i*ld+j])
	}
	want, bound := make([]float64, len(out)), make([]float64, len(out))
	for i := range c.m {
		for j := range c.n {
			sum, abs := 0.0, 0.0
			if c.alpha != 0 {
				for p := range c.k {
					v := at(a, lda, c.transA, i, p) * at(b, ldb, c.transB, p, j)
					sum += v
					abs += math.Abs(v)
				}
			}
			sum *= float64(c.alpha)
			abs *= math.Abs(float64(c.alpha))
			if c.beta != 0 {
				v := float64(c.beta) * float64(out[i*ldc+j])
				sum += v
				abs += math.Abs(v)
			}
			want[i*ldc+j], bound[i*ldc+j] = sum, abs*float64(c.k+3)*0x1p-24
		}
	}
	f(a, lda, b, ldb, out, ldc)
	for i := range c.m {
		for j := range ldc {
			at := i*ldc + j
			switch {
			case j >= c.n && at < len(out) && !math.IsNaN(float64(out[at])):
				t.Fatalf("padding after row %d was written", i)
			case j < c.n && !(math.Abs(float64(out[at])-want[at]) <= bound[at]):
				t.Fatalf("C[%d,%d] = %v, want %v +- %v", i, j, out[at], want[at], bound[at])
			}
		}
	}
}

func TestGemm(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, shrink := range []bool{false, true} {
			t.Run(fmt.Sprintf("shrink=%v", shrink), func(t *testing.T) {
				if shrink {
					shrinkBlocks(t)
				}
				for _, c := range gemmCases() {
					t.Run(c.String(), func(t *testing.T) {
						c.run(t, func(a []float32, lda int, b []float32, ldb int, out []float32, ldc int) {
							Gemm(c.transA, c.transB, c.m, c.n, c.k, c.alpha, a, lda, b, ldb, c.beta, out, ldc)
						})
						if c.transA {
							return
						}
						c.run(t, func(a []float32, lda int, b []float32, ldb int, out []float32, ldc int) {
							GemmPacked(c.m, c.alpha, a, lda, PackB(c.transB, c.n, c.k, b, ldb), c.beta, out, ldc, Epilogue{})
						})
					})
				}
			})
		}
	})
}

// gemmShapes has products for every path: GEMV, dot products, B in place, B packed, with several
// blocks of each kind, and too small for threads or not.
var gemmShapes = [][3]int{{1, 700, 900}, {1, 5000, 300}, {2, 3, 100000}, {7, 700, 300}, {13, 1000, 200}, {40, 500, 450},
	{100, 130, 1000}, {200, 100, 150}, {300, 300, 500}, {5, 64, 64}, {513, 77, 129}}

// TestGemmThreads expects the same bits from any number of threads.
func TestGemmThreads(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(par.Stop)
	limit, counts := math.MaxInt, []Threads{2, 3, 4, 16}
	switch {
	case testenv.Slow():
		limit, counts = 1<<22, []Threads{3}
	case testing.Short():
		limit = 1 << 24
	}
	eachISA(t, func(t *testing.T) {
		for _, s := range gemmShapes {
			m, n, k := s[0], s[1], s[2]
			if m*n*k > limit {
				continue
			}
			r := rand.New(rand.NewPCG(3, uint64(m)))
			a, b, bias, residual := randomSlice(r, m*k), randomSlice(r, k*n), randomSlice(r, n), randomSlice(r, m*n)
			forms := map[string]func(t Threads, c []float32){
				"nn": func(t Threads, c []float32) { t.Gemm(NoTrans, NoTrans, m, n, k, 1.5, a, k, b, n, 0.5, c, n) },
				"nt": func(t Threads, c []float32) { t.Gemm(NoTrans, Trans, m, n, k, 1.5, a, k, b, k, 0.5, c, n) },
				"tn": func(t Threads, c []float32) { t.Gemm(Trans, NoTrans, m, n, k, 1.5, a, m, b, n, 0.5, c, n) },
				"tt": func(t Threads, c []float32) { t.Gemm(Trans, Trans, m, n, k, 1.5, a, m, b, k, 0.5, c, n) },
			}
			packed := PackB(NoTrans, n, k, b, n)
			forms["packed"] = func(t Threads, c []float32) {
				t.GemmPacked(m, 1, a, k, packed, 0, c, n, Epilogue{Bias: bias, Activation: ActGELU, Residual: residual, LdResidual: n})
			}
			for form, f := range forms {
				t.Run(fmt.Sprintf("%dx%dx%d/%s", m, n, k, form), func(t *testing.T) {
					run := func(threads Threads) []float32 {
						c := slices.Clone(residual)
						f(threads, c)
						return c
					}
					want := run(1)
					for _, threads := range counts {
						if got := run(threads); !slices.Equal(got, want) {
							t.Errorf("%d threads differ from one", threads)
						}
					}
				})
			}
		}
	})
}

// TestEpilogue compares each activation, with and without bias and residual, with the same
// operations step by step, for one and several blocks along k, partial panels, a single row, and a
// residual that is C itself.
func TestEpilogue(t *testing.T) {
	activations := map[Activation]func(dst, x []float32){
		ActIdentity: func(dst, x []float32) { copy(dst, x) }, ActReLU: ReLU, ActGELU: GELU, ActGELUTanh: GELUTanh, ActSiLU: SiLU, ActTanh: Tanh,
		ActReLU2: func(dst, x []float32) { ReLU(dst, x); Mul(dst, dst, dst) },
	}
	eachISA(t, func(t *testing.T) {
		shrinkBlocks(t)
		for i, s := range [][3]int{{1, 50, 7}, {1, 64, 30}, {5, 40, 4}, {40, 70, 30}, {3, 1, 0}, {200, 2, 0}, {1, 67, 30}, {20, 67, 30}} {
			m, n, k := s[0], s[1], s[2]
			alpha := float32(1.5)
			if i >= 6 {
				alpha = 0
			}
			r := rand.New(rand.NewPCG(4, uint64(m+n)))
			lda, ldc, ldr := k+1, n+2, n+3
			a, b, c0 := randomSlice(r, m*lda), randomSlice(r, k*n), randomSlice(r, m*ldc)
			bias, residual := randomSlice(r, n), randomSlice(r, m*ldr)
			if alpha == 0 { // so that the product reads neither
				a[0], b[0] = nan32, nan32
			}
			packed := PackB(NoTrans, n, k, b, n)
			for act, f := range activations {
				for _, beta := range []float32{0, 0.5} {
					for mode := range 8 {
						ep := Epilogue{Activation: act}
						if mode&1 != 0 {
							ep.Bias = bias
						}
						got, want := slices.Clone(c0), slices.Clone(c0)
						Gemm(NoTrans, NoTrans, m, n, k, alpha, a, lda, b, n, beta, want, ldc)
						res, ld := residual, ldr
						if mode&4 != 0 {
							res, ld = c0, ldc // as it was before the call
						}
						for i := range m {
							row := want[i*ldc:][:n]
							if ep.Bias != nil {
								Add(row, row, bias)
							}
							f(row, row)
							if mode&2 != 0 {
								Add(row, row, res[i*ld:][:n])
							}
						}
						if mode&2 != 0 {
							ep.Residual, ep.LdResidual = res, ld
							if mode&4 != 0 {
								ep.Residual = got
							}
						}
						GemmPacked(m, alpha, a, lda, packed, beta, got, ldc, ep)
						for i := range got {
							tolerance := 1e-4
							if act == ActReLU2 { // which is as steep as twice the root
								tolerance *= 2 * (1 + math.Sqrt(math.Abs(float64(want[i]))))
							}
							if !(math.Abs(float64(got[i]-want[i])) <= tolerance) || i%ldc >= n && got[i] != c0[i] {
								t.Fatalf("%dx%dx%d activation %d beta %v mode %d: C[%d,%d] = %v, want %v", m, n, k, act, beta, mode, i/ldc, i%ldc, got[i], want[i])
							}
						}
					}
				}
			}
		}
	})
}

// TestGemmBatched compares a batch with its products one by one, also with heads side by side, and
// with a shared operand.
func TestGemmBatched(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(par.Stop)
	eachISA(t, func(t *testing.T) {
		const batch = 12
		for _, s := range [][3]int{{1, 1, 1}, {10, 10, 64}, {33, 40, 16}, {1, 70, 64}, {64, 128, 64}} {
			m, n, k := s[0], s[1], s[2]
			for _, tb := range []Transpose{NoTrans, Trans} {
				for _, sideBySide := range []bool{false, true} {
					for _, shared := range []bool{false, true} {
						t.Run(fmt.Sprintf("%dx%dx%d/tb=%v/side=%v/shared=%v", m, n, k, tb, sideBySide, shared), func(t *testing.T) {
							r := rand.New(rand.NewPCG(5, uint64(m)))
							lda, ldb, ldc := k, n, n
							if tb {
								ldb = k
							}
							strideA, strideB, strideC := m*k, n*k, m*n
							if sideBySide {
								strideA, strideB, strideC = lda, ldb, ldc
								lda, ldb, ldc = batch*lda, batch*ldb, batch*ldc
							}
							if shared {
								strideB = 0
							}
							a, b, c := randomSlice(r, batch*m*k), randomSlice(r, batch*n*k), randomSlice(r, batch*m*n)
							want := slices.Clone(c)
							for i := range batch {
								Gemm(NoTrans, tb, m, n, k, 2, a[i*strideA:], lda, b[i*strideB:], ldb, 0.5, want[i*strideC:], ldc)
							}
							for _, threads := range []Threads{1, 2, 4} {
								got := slices.Clone(c)
								threads.GemmBatched(GemmBatchedParams{TransB: tb, Batch: batch, M: m, N: n, K: k, Alpha: 2, A: a, LdA: lda, StrideA: strideA,
									B: b, LdB: ldb, StrideB: strideB, Beta: 0.5, C: got, LdC: ldc, StrideC: strideC})
								if !slices.Equal(got, want) {
									t.Errorf("%d threads: not the products one by one", threads)
								}
							}
						})
					}
				}
			}
		}
	})
}

// TestGemmDoesNotAllocate measures the steady state: buffers come from pools.
func TestGemmDoesNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector makes sync.Pool forget")
	}
	withProcs(t, 2)
	t.Cleanup(par.Stop)
	limit, runs := 1<<24, 10
	if testenv.Slow() {
		limit, runs = 1<<21, 3
	}
	eachISA(t, func(t *testing.T) {
		for _, s := range gemmShapes {
			m, n, k := s[0], s[1], s[2]
			if m*n*k > limit {
				continue
			}
			a, b, c := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
			packed := PackB(NoTrans, n, k, b, n)
			for _, threads := range []Threads{1, 2} {
				got := testing.AllocsPerRun(runs, func() {
					threads.Gemm(NoTrans, NoTrans, m, n, k, 2, a, k, b, n, 0.5, c, n)
					threads.Gemm(Trans, Trans, m, n, k, 2, a, m, b, k, 0.5, c, n)
					threads.GemmPacked(m, 1, a, k, packed, 0, c, n, Epilogue{Bias: b[:n], Activation: ActGELU})
					threads.GemmBatched(GemmBatchedParams{TransB: Trans, Batch: 1, M: m, N: n, K: k, Alpha: 2, A: a, LdA: k, B: b, LdB: k, Beta: 0.5, C: c, LdC: n})
				})
				if got >= 1 {
					t.Errorf("%dx%dx%d on %d threads: %v allocations", m, n, k, threads, got)
				}
			}
		}
	})
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range [][3]int{{1024, 1024, 1024}, {128, 768, 768}, {8, 3072, 768}, {64, 64, 64}} {
		for _, isa := range Supported() {
			b.Run(fmt.Sprintf("shape=%dx%dx%d/isa=%v", s[0], s[1], s[2], isa), func(b *testing.B) {
				defer simd.Use(simd.ISA(isa))()
				r := rand.New(rand.NewPCG(1, 2))
				m, n, k := s[0], s[1], s[2]
				x, y, z := randomSlice(r, m*k), randomSlice(r, k*n), make([]float32, m*n)
				for b.Loop() {
					Gemm(NoTrans, NoTrans, m, n, k, 1, x, k, y, n, 0, z, n)
				}
				b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
