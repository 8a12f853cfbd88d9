// Package pack copies A and B of a product into the order in which its loops read them.
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

// PaddedRow returns the distance between rows of k elements in a copy: an odd number of cache
// lines, so that the rows of a tile use different sets of the cache.
func PaddedRow(k int) int { return ((k+15)/16 | 1) * 16 }

// At returns A from row i of op(A) on, for the product whose A begins offset elements further.
func (a *A) At(offset, i int) []float32 {
	if !a.Trans {
		i *= a.LD
	}
	return a.Data[offset+i:]
}

// CopyBlock copies rows [i, i+m) and steps [p, p+k) of op(A) into a buffer, as rows of contiguous
// elements ld apart.
func (a *A) CopyBlock(isa simd.ISA, buf *[]float32, i, p, m, k int) (rows []float32, ld int) {
	ld = PaddedRow(k)
	*buf = mem.Grow(*buf, m*ld)
	to := *buf
	step := max(8, 1<<18/m&^7) // columns per call
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

// At returns B from column j of op(B) on, for the product whose B begins offset elements further.
func (b *B) At(offset, j int) []float32 {
	if b.Trans {
		j *= b.LD
	}
	return b.Data[offset+j:]
}

// PackPanels packs rows [p, p+k) and columns [j, j+n) of op(B) into panels of nr columns, k*nr
// elements apart. It packs some rows of all panels before the next rows, because a row of B is
// contiguous over the panels. The number of rows is limited by the number of streams and pages that
// the processor can follow.
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

// packRows packs rows [p, p+k) and columns [j, j+n) of op(B), n <= nr, into dst, with rows nr
// apart. It does not write the columns from n on, which are never read.
func (b *B) packRows(isa simd.ISA, dst []float32, p, j, k, n, nr int) {
	if b.Trans {
		group := n // rows that evict each other from the cache are taken eight at a time
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

// Columns copies columns [j, j+n) of op(B), k elements each, into dst, one after the other.
func (b *B) Columns(isa simd.ISA, dst []float32, j, n, k int) {
	if b.Trans {
		simd.CopyRows(isa, dst, b.Data[j*b.LD:], n, k, k, b.LD)
		return
	}
	Transpose(isa, dst, b.Data[j:], k, n, k, b.LD)
}

// Transpose computes dst[j*lddst+i] = x[i*ldx+j] for i < rows and j < cols, in blocks of 8x8. For a
// partial block at the edge it transposes the whole block that ends there, and so transposes some
// elements twice. It transposes matrices smaller than a block element by element.
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
