package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has queries and keys of a head as int8, for scores as products of integers. A row has
// one scale. Rows are not rotated: rotation gains nothing here.

// IntegerHead reports whether heads of dim elements can be int8.
func IntegerHead(dim int) bool { return dim == 32 || dim == 64 || dim == 128 }

// OfHeads returns the part of a record that products of rows and keys of heads need.
func OfHeads(isa simd.ISA) Record {
	mr, nr := simd.GemmTile(isa)
	f := Record{Format: Int8, ISA: isa, MR: mr, NR: nr}
	f.multiplyInt8()
	return f
}

// QuantizeHead quantizes m rows of a head, for products with its keys.
func (r *RowsOfA) QuantizeHead(f *Record, a []float32, lda, m, dim int) {
	r.rows, r.scale, r.start = m, mem.Grow(r.scale, m), mem.Grow(r.start, m)
	if r.ld = dim; f.Kind != Int8Pairs {
		r.bytes = mem.Grow(r.bytes, m*dim)
		quantizeHead(f.ISA, r.bytes, r.scale, r.start, a, lda, m, dim)
		return
	}
	r.words = mem.Grow(r.words, m*dim)
	switch dim {
	case 32:
		simd.QuantizeInt16By32(f.ISA, r.words, a, m, dim, dim, dim, lda, r.scale, m)
	case 64:
		simd.QuantizeInt16By64(f.ISA, r.words, a, m, dim, dim, dim, lda, r.scale, m)
	default:
		simd.QuantizeInt16(f.ISA, r.words, a, m, dim, dim, dim, lda, r.scale)
	}
}

// quantizeHead quantizes m rows of a head to bytes, without gaps.
func quantizeHead(isa simd.ISA, dst []int8, scale []float32, start []int32, a []float32, lda, m, dim int) {
	switch dim {
	case 32:
		simd.QuantizeInt8By32(isa, dst, a, m, dim, dim, dim, lda, scale, start, m)
	case 64:
		simd.QuantizeInt8By64(isa, dst, a, m, dim, dim, dim, lda, scale, start, m)
	default:
		simd.QuantizeInt8(isa, dst, a, m, dim, dim, dim, lda, scale, start)
	}
}

// Keys holds keys of a head as panels of columns.
type Keys struct {
	rows   []float32 // four bytes per element
	start  []int32
	panels []float32
	scale  []float32
}

// Pack quantizes n keys, and multiplies their scales by a factor.
func (k *Keys) Pack(f *Record, x []float32, ldx, n, dim int, factor float32) {
	columns := (n + f.NR - 1) / f.NR * f.NR
	k.rows, k.panels = mem.Grow(k.rows, n*dim/4), mem.Grow(k.panels, columns*dim/4)
	k.start, k.scale = mem.Grow(k.start, n), mem.Grow(k.scale, columns)
	rows := mem.Bytes(k.rows)
	quantizeHead(f.ISA, mem.Int8s(rows), k.scale, k.start, x, ldx, n, dim)
	for j := range k.scale[:n] {
		k.scale[j] *= factor
	}
	clear(k.scale[n:])
	for j := 0; j < n; j += f.NR {
		some, panel := min(f.NR, n-j), k.panels[j*dim/4:][:f.NR*dim/4]
		if some < f.NR {
			clear(panel)
		}
		from, to := rows[j*dim:][:some*dim], mem.Bytes(panel)
		switch f.Kind.side() {
		case 2:
			intoColumns(mem.Halves(to), mem.Halves(from), some, f.NR)
		case 8:
			intoColumns(mem.Words(to), mem.Words(from), some, f.NR)
		default:
			pack.Transpose(f.ISA, panel, k.rows[j*dim/4:], some, dim/4, f.NR, dim/4)
		}
	}
	if f.Kind == Int8Quads {
		words := mem.Words(mem.Bytes(k.panels))
		for i := range words {
			words[i] ^= 0x8080808080808080
		}
	}
}

// intoColumns transposes n rows, which have no gaps between them, into columns. Its elements are
// the groups of bytes that are side by side.
func intoColumns[T uint16 | uint64](columns, rows []T, n, nr int) {
	if n == 0 {
		return
	}
	elements := len(rows) / n
	for i := range n {
		at := i
		for _, v := range rows[i*elements:][:elements] {
			columns[at] = v
			at += nr
		}
	}
}

// Scores sets c, with rows ldc apart, to the products of rows [i, i+m) and the first n of the
// packed keys, rounded up to whole panels.
func (k *Keys) Scores(f *Record, r *RowsOfA, i, m, n, dim int, c []float32, ldc int) {
	n = (n + f.NR - 1) / f.NR * f.NR
	x := Product{Format: f, Kernel: f.kernel, I: i, M: m, K: dim, LDC: ldc}
	for j := 0; j < n; j += f.NR {
		x.B, x.Scales, x.C = mem.Bytes(k.panels[j*dim/4:][:f.NR*dim/4]), k.scale[j:][:f.NR], c[j:]
		r.Multiply(&x)
	}
}
