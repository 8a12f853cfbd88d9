package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
)

// eachISA runs f as a subtest on every tier of this machine.
func eachISA(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	testenv.EachTier(t, Supported(), active, Use, f)
}

func randomSlice(r *rand.Rand, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(r.NormFloat64())
	}
	return s
}

// shrinkBlocks makes the block sizes small, so that small matrices have many
// blocks and every kind of edge.
func shrinkBlocks(t *testing.T) {
	t.Helper()
	old := gemmBlocking
	t.Cleanup(func() { gemmBlocking = old })
	_, nr := gemmTile(active)
	gemmBlocking = blocking{mc: 17, kc: 9, nc: 2 * nr, strip: 1, fold: 3}
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
	return append(cases, gemmCase{m: 5, n: 4, k: 0, alpha: 1, beta: 0.5}, gemmCase{m: 5, n: 4, k: 3, alpha: 0, beta: 0})
}

// run makes the operands, multiplies with f, and compares with the oracle. C is
// full of NaN where beta is 0, and so is the padding of every row.
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
	a, b := matrix(rowsA, colsA, lda, false), matrix(rowsB, colsB, ldb, false)
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
							GemmPacked(c.m, c.alpha, a, lda, PackB(c.transB, c.k, c.n, b, ldb), c.beta, out, ldc, Epilogue{})
						})
					})
				}
			})
		}
	})
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range [][3]int{{1024, 1024, 1024}, {128, 768, 768}, {8, 3072, 768}, {64, 64, 64}} {
		for _, isa := range Supported() {
			b.Run(fmt.Sprintf("shape=%dx%dx%d/isa=%v", s[0], s[1], s[2], isa), func(b *testing.B) {
				defer Use(isa)()
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
