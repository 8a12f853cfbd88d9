package kernels

import "github.com/avoformer/avoformer/kernels/internal/simd"

// Copies of A and B in the order in which the loops read them.

// operandA is op(A).
type operandA struct {
	data  []float32
	ld    int
	trans Transpose
}

// paddedRow is the distance of rows of k elements in a copy: an odd number of
// cache lines, so that the rows of a tile spread over all sets.
func paddedRow(k int) int { return ((k+15)/16 | 1) * 16 }

// at is A from row i on of op(A), of the product whose A begins offset elements further.
func (a *operandA) at(offset, i int) []float32 {
	if !a.trans {
		i *= a.ld
	}
	return a.data[offset+i:]
}

// rowsOfA is rows [i, i+m) and steps [p, p+k) of op(A), the rows ld apart: in place,
// or a copy, which the next one replaces.
func (b *gemmBlock) rowsOfA(i, p, m, k int) (rows []float32, ld int) {
	switch {
	case k == 0: // there is no A
		return nil, 0
	case !b.g.copyA:
		return b.a.data[i*b.a.ld+p:], b.a.ld
	}
	return b.a.copyBlock(b.g.isa, b.s, i, p, m, k)
}

// copyBlock copies rows [i, i+m) and steps [p, p+k) of op(A) into s.a, rows of
// contiguous elements ld apart.
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

// operandB is op(B): packed by PackB, from some column on, or in the caller's memory.
type operandB struct {
	packed *PackedB
	column int
	data   []float32
	ld     int
	trans  Transpose
}

// at is B from column j on of op(B), of the product whose B begins offset elements further.
func (b *operandB) at(offset, j int) []float32 {
	if b.trans {
		j *= b.ld
	}
	return b.data[offset+j:]
}

// packPanels packs rows [p, p+k) and columns [j, j+n) of op(B) into panels of nr
// columns, k*nr elements apart. A step of rows of all panels comes before the next
// rows: a row of B is contiguous over the panels, and a step has as many rows as the
// processor follows streams and pages.
func (b *operandB) packPanels(isa ISA, dst []float32, p, j, k, n, nr int) {
	if n <= 0 || k <= 0 {
		return
	}
	step := tuned.gemm.packRows
	if b.trans {
		step *= 4
	}
	for q := 0; q < k; q += step {
		rows := min(step, k-q)
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

// transpose computes dst[j*lddst+i] = x[i*ldx+j] for i < rows and j < cols, by blocks of 8x8: what
// is left at the edges is done once more with its neighbours, as a block that ends there. Less than
// a block is done one by one.
func transpose(isa ISA, dst, x []float32, rows, cols, lddst, ldx int) {
	const side = 8
	if rows < side || cols < side {
		for i := range rows {
			for j, v := range x[i*ldx:][:cols] {
				dst[j*lddst+i] = v
			}
		}
		return
	}
	r, c := rows&^(side-1), cols&^(side-1)
	simd.TransposeRows(isa, dst, x, r, c, lddst, ldx)
	i, j := rows-side, cols-side
	if rows%side != 0 {
		simd.TransposeRows(isa, dst[i:], x[i*ldx:], side, c, lddst, ldx)
	}
	if cols%side != 0 {
		simd.TransposeRows(isa, dst[j*lddst:], x[j:], r, side, lddst, ldx)
		if rows%side != 0 {
			simd.TransposeRows(isa, dst[j*lddst+i:], x[i*ldx+j:], side, side, lddst, ldx)
		}
	}
}
