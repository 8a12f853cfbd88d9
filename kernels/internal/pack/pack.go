// Package pack copies A and B of a product in the order in which its loops read them.
package pack

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// A is op(A).
type A struct {
	Data  []float32
	LD    int
	Trans bool
}

// PaddedRow returns the distance of rows of k elements in a copy: an odd number of
// cache lines, so that the rows of a tile spread over all sets.
func PaddedRow(k int) int { return ((k+15)/16 | 1) * 16 }

// At is A from row i on of op(A), of the product whose A begins offset elements further.
func (a *A) At(offset, i int) []float32 {
	if !a.Trans {
		i *= a.LD
	}
	return a.Data[offset+i:]
}

// CopyBlock copies rows [i, i+m) and steps [p, p+k) of op(A) into a buffer, rows of
// contiguous elements ld apart.
func (a *A) CopyBlock(isa simd.ISA, buf *[]float32, i, p, m, k int) (rows []float32, ld int) {
	ld = PaddedRow(k)
	*buf = mem.Grow(*buf, m*ld)
	to := *buf
	step := max(8, 1<<18/m&^7) // columns of a call
	for q := 0; q < k; q += step {
		w := min(step, k-q)
		if a.Trans {
			Transpose(isa, to[q:], a.Data[(p+q)*a.LD+i:], w, m, ld, a.LD)
		} else {
			simd.CopyRows(isa, to[q:], a.Data[i*a.LD+p+q:], m, w, ld, a.LD)
		}
	}
	return to, ld
}

// B is op(B).
type B struct {
	Data  []float32
	LD    int
	Trans bool
}

// At is B from column j on of op(B), of the product whose B begins offset elements further.
func (b *B) At(offset, j int) []float32 {
	if b.Trans {
		j *= b.LD
	}
	return b.Data[offset+j:]
}

// PackPanels packs rows [p, p+k) and columns [j, j+n) of op(B) into panels of nr
// columns, k*nr elements apart. A step of rows of all panels comes before the next
// rows: a row of B is contiguous over the panels, and a step has as many rows as the
// processor follows streams and pages.
func (b *B) PackPanels(isa simd.ISA, dst []float32, p, j, k, n, nr int) {
	if n <= 0 || k <= 0 {
		return
	}
	step := tune.Used.Gemm.PackRows
	if b.Trans {
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
func (b *B) packRows(isa simd.ISA, dst []float32, p, j, k, n, nr int) {
	if b.Trans {
		group := n // rows that crowd each other out of the cache are taken by eight
		if tune.Crowd(b.LD, n) {
			group = 8
		}
		for c := 0; c < n; c += group {
			Transpose(isa, dst[c:], b.Data[(j+c)*b.LD+p:], min(group, n-c), k, nr, b.LD)
		}
		return
	}
	simd.CopyRows(isa, dst, b.Data[p*b.LD+j:], k, n, nr, b.LD)
}

// Transpose computes dst[j*lddst+i] = x[i*ldx+j] for i < rows and j < cols, by blocks of 8x8: what
// is left at the edges is done once more with its neighbours, as a block that ends there. Less than
// a block is done one by one.
func Transpose(isa simd.ISA, dst, x []float32, rows, cols, lddst, ldx int) {
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
