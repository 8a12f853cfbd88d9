package kernels

import "github.com/avoformer/avoformer/kernels/internal/simd"

// PackedB is a matrix op(B) in the layout that the inner loops of one tier
// read: panels of NR columns, each panel k rows of NR consecutive elements, and
// the last few columns, if they are dot products, one after the other. It is
// immutable and may be shared by goroutines.
type PackedB struct {
	isa  ISA
	k, n int
	nr   int
	dots int       // columns that are dot products
	data []float32 // panel j at j*k*nr
}

// K and N are the dimensions of op(B).
func (b *PackedB) K() int { return b.k }

// N is the number of columns of op(B).
func (b *PackedB) N() int { return b.n }

// PackB packs op(B), which is k x n, for GemmPacked on the active tier. B is
// stored k x n with rows ldb apart, or n x k with transB = Trans.
func PackB(transB Transpose, k, n int, b []float32, ldb int) *PackedB {
	checkSize("PackB", "k", k)
	checkSize("PackB", "n", n)
	if transB {
		checkMatrix("PackB", "b", len(b), n, k, ldb)
	} else {
		checkMatrix("PackB", "b", len(b), k, n, ldb)
	}
	_, nr := simd.GemmTile(Active())
	p := &PackedB{isa: Active(), k: k, n: n, nr: nr}
	if k == 0 || n == 0 {
		return p
	}
	p.dots = dotColumns(p.isa, n, k, 0)
	n -= p.dots
	p.data = make([]float32, mulLen("PackB", p.wide()+p.dots, k))
	src := operandB{data: b, ld: ldb, trans: transB}
	src.packPanels(p.isa, p.data, 0, 0, k, n, nr)
	src.packDots(p.isa, p.data[p.wide()*k:], 0, n, k, p.dots)
	return p
}

// wide is the number of columns of all panels, with those that are not used.
func (b *PackedB) wide() int { return (b.n - b.dots + b.nr - 1) / b.nr * b.nr }

// operandA is op(A).
type operandA struct {
	data  []float32
	ld    int
	trans Transpose
}

// paddedRow is the distance of rows of k elements in a copy: an odd number of
// cache lines, so that the rows of a tile spread over all sets.
func paddedRow(k int) int { return ((k+15)/16 | 1) * 16 }

// copyBlock copies rows [i, i+m) and columns [p, p+k) of op(A) into s.a, rows
// of contiguous elements ld apart.
func (a *operandA) copyBlock(isa ISA, s *gemmScratch, i, p, m, k int) (rows []float32, ld int) {
	ld = paddedRow(k)
	s.a = grow(s.a, m*ld)
	step := max(8, 1<<18/m&^7) // columns of a call
	for q := 0; q < k; q += step {
		w := min(step, k-q)
		if a.trans {
			transpose(isa, s.a[q:], a.data[(p+q)*a.ld+i:], w, m, ld, a.ld)
		} else {
			simd.CopyRows(isa, s.a[q:], a.data[i*a.ld+p+q:], m, w, ld, a.ld)
		}
	}
	return s.a, ld
}

// operandB is op(B): packed beforehand, or to be packed block by block.
type operandB struct {
	packed *PackedB
	data   []float32
	ld     int
	trans  Transpose
}

// packPanels packs rows [p, p+k) and columns [j, j+n) of op(B) into panels of nr
// columns, k*nr elements apart. Some rows of all panels come before the next
// rows: a row of B is contiguous over the panels, and so many rows at once are
// as many streams and pages as the processor follows.
func (b *operandB) packPanels(isa ISA, dst []float32, p, j, k, n, nr int) {
	if n <= 0 || k <= 0 {
		return
	}
	fold := gemmBlocking.fold
	if b.trans {
		fold *= 4
	}
	for q := 0; q < k; q += fold {
		rows := min(fold, k-q)
		for c := 0; c < n; c += nr {
			b.packRows(isa, dst[c*k+q*nr:], p+q, j+c, rows, min(nr, n-c), nr)
		}
	}
}

// packRows packs rows [p, p+k) and columns [j, j+n) of op(B), n <= nr, into dst,
// rows nr apart. The columns from n on are left as they are: nobody uses them.
func (b *operandB) packRows(isa ISA, dst []float32, p, j, k, n, nr int) {
	if b.trans {
		group := n // rows that crowd each other out of the cache are taken by eight
		if crowd(b.ld, n) {
			group = 8
		}
		for c := 0; c < n; c += group {
			transpose(isa, dst[c:], b.data[(j+c)*b.ld+p:], min(group, n-c), k, nr, b.ld)
		}
		return
	}
	simd.CopyRows(isa, dst, b.data[p*b.ld+j:], k, n, nr, b.ld)
}

// packDots packs rows [p, p+k) and columns [j, j+n) of op(B) into dst, column by
// column, which are k elements apart.
func (b *operandB) packDots(isa ISA, dst []float32, p, j, k, n int) {
	if n == 0 {
		return
	}
	const step = 1 << 15 // rows of a call
	for q := 0; q < k; q += step {
		rows := min(step, k-q)
		if b.trans {
			simd.CopyRows(isa, dst[q:], b.data[j*b.ld+p+q:], n, rows, k, b.ld)
		} else {
			transpose(isa, dst[q:], b.data[(p+q)*b.ld+j:], rows, n, k, b.ld)
		}
	}
}

// transpose computes dst[j*lddst+i] = x[i*ldx+j] for i < rows and j < cols: the
// multiples of 8 by transposeRows, what is left at the edges one by one.
func transpose(isa ISA, dst, x []float32, rows, cols, lddst, ldx int) {
	r, c := rows&^7, cols&^7
	if r > 0 && c > 0 {
		simd.TransposeRows(isa, dst, x, r, c, lddst, ldx)
	}
	for i := range rows {
		from := c
		if i >= r {
			from = 0
		}
		for j := from; j < cols; j++ {
			dst[j*lddst+i] = x[i*ldx+j]
		}
	}
}
