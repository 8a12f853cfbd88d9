package pack

import (
	"math"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

func TestMain(m *testing.M) { testenv.Main(m, simd.Supported()) }

func TestForcedTier(t *testing.T) { testenv.CheckForced(t, simd.Active()) }

func eachISA(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	testenv.EachTier(t, simd.Supported(), simd.Active(), simd.Use, f)
}

// numbered returns a matrix whose elements are all different.
func numbered(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i + 1)
	}
	return x
}

// untouched is the value of memory that must not be written.
var untouched = float32(math.Inf(-1))

// filled returns n elements of untouched.
func filled(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = untouched
	}
	return x
}

// TestTranspose compares with the definition, for sizes around multiples of the block's side, and
// expects no other element to be written.
func TestTranspose(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for rows := range 26 {
			for _, cols := range []int{0, 1, 7, 8, 9, 15, 16, 17, 24} {
				ldx, lddst := cols+3, rows+2
				x, dst := numbered(max(rows, 1)*ldx), filled(max(cols, 1)*lddst)
				Transpose(simd.Active(), dst, x, rows, cols, lddst, ldx)
				for j := range cols {
					for i := range lddst {
						want := untouched
						if i < rows {
							want = x[i*ldx+j]
						}
						if got := dst[j*lddst+i]; got != want {
							t.Fatalf("%dx%d: element %d, %d is %v, want %v", rows, cols, j, i, got, want)
						}
					}
				}
			}
		}
	})
}

// TestPaddedRow expects memory for k elements in an odd number of cache lines, and no line more
// than necessary.
func TestPaddedRow(t *testing.T) {
	for k := 1; k < 200; k++ {
		ld := PaddedRow(k)
		if ld < k || ld%16 != 0 || ld/16%2 != 1 || ld >= k+32 {
			t.Fatalf("rows of %d elements are %d apart", k, ld)
		}
	}
}

// opA returns element i, p of op(A), and opB element p, j of op(B).
func opA(a *A, i, p int) float32 {
	if a.Trans {
		i, p = p, i
	}
	return a.Data[i*a.LD+p]
}

func opB(b *B, p, j int) float32 {
	if b.Trans {
		p, j = j, p
	}
	return b.Data[p*b.LD+j]
}

// TestCopyBlock copies blocks of A that begin anywhere.
func TestCopyBlock(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, trans := range []bool{false, true} {
			a := A{Data: numbered(60 * 61), LD: 61, Trans: trans}
			for _, s := range [][4]int{{0, 0, 1, 1}, {3, 5, 7, 17}, {2, 0, 20, 40}, {1, 9, 9, 8}} {
				i, p, m, k := s[0], s[1], s[2], s[3]
				var buf []float32
				rows, ld := a.CopyBlock(simd.Active(), &buf, i, p, m, k)
				if ld != PaddedRow(k) || &rows[0] != &buf[0] {
					t.Fatalf("%v: rows are %d apart", s, ld)
				}
				for r := range m {
					for q := range k {
						if got, want := rows[r*ld+q], opA(&a, i+r, p+q); got != want {
							t.Fatalf("transposed %v, block %v: element %d, %d is %v, want %v", trans, s, r, q, got, want)
						}
					}
				}
			}
		}
	})
}

// TestCopyBlockInCalls copies so many rows that a call takes only some of their columns.
func TestCopyBlockInCalls(t *testing.T) {
	const m, k = 1 << 15, 21 // 8 columns per call
	a := A{Data: numbered(m * k), LD: k}
	var buf []float32
	rows, ld := a.CopyBlock(simd.Active(), &buf, 0, 0, m, k)
	for _, r := range []int{0, 1, m - 1} {
		for q := range k {
			if rows[r*ld+q] != a.Data[r*k+q] {
				t.Fatalf("element %d, %d is %v", r, q, rows[r*ld+q])
			}
		}
	}
}

// TestAt finds rows of op(A) and columns of op(B) in a product of a batch.
func TestAt(t *testing.T) {
	data := numbered(1000)
	for _, trans := range []bool{false, true} {
		a, b := A{Data: data, LD: 10, Trans: trans}, B{Data: data, LD: 10, Trans: trans}
		shifted, other := A{Data: data[200:], LD: 10, Trans: trans}, B{Data: data[200:], LD: 10, Trans: trans}
		if got, want := a.At(200, 3)[0], opA(&shifted, 3, 0); got != want {
			t.Errorf("row 3 of A, transposed %v, begins with %v, want %v", trans, got, want)
		}
		if got, want := b.At(200, 3)[0], opB(&other, 0, 3); got != want {
			t.Errorf("column 3 of B, transposed %v, begins with %v, want %v", trans, got, want)
		}
	}
}

// TestPackPanels packs parts of B in steps of few rows, and rows that share a cache set. Columns
// beyond the last one are not written.
func TestPackPanels(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	tune.Used.Gemm.PackRows = 3
	eachISA(t, func(t *testing.T) {
		_, nr := simd.GemmTile(simd.Active())
		for _, trans := range []bool{false, true} {
			for _, ld := range []int{2*nr + 30, 1024} {
				b := B{Data: numbered((2*nr + 30) * ld), LD: ld, Trans: trans}
				for _, s := range [][4]int{{0, 0, 1, 1}, {2, 3, 25, nr}, {1, 0, 13, 2*nr + 5}, {0, 1, 4, nr - 1}, {0, 0, 0, 4}, {0, 0, 4, 0}} {
					p, j, k, n := s[0], s[1], s[2], s[3]
					dst := filled((n/nr + 2) * nr * (k + 1))
					b.PackPanels(simd.Active(), dst, p, j, k, n, nr)
					written := 0
					for q := range k {
						for c := range n {
							if got, want := dst[c/nr*nr*k+q*nr+c%nr], opB(&b, p+q, j+c); got != want {
								t.Fatalf("transposed %v, ld %d, part %v: element %d, %d is %v, want %v", trans, ld, s, q, c, got, want)
							}
						}
					}
					for _, v := range dst {
						if v != untouched {
							written++
						}
					}
					if written != n*k {
						t.Fatalf("transposed %v, ld %d, part %v: %d elements were written, want %d", trans, ld, s, written, n*k)
					}
				}
			}
		}
	})
}
