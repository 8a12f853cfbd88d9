package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Rows of a cache of keys and values, which may be narrow and take half the memory or a quarter.
// Attention reads them where they lie.

// Rows are rows of dim elements: float32, FormatF32; of 16 bits, FormatBF16 or FormatF16; or
// integers of at most 127 with a scale for each row, FormatInt8. Rows may be read by several
// goroutines while none sets them.
type Rows struct {
	format Format
	dim    int
	wide   []float32
	halves []uint16
	bytes  []int8
	scales []float32 // of the rows of bytes
}

// NewRows is n rows of zeros.
func NewRows(f Format, n, dim int) *Rows {
	const fn = "NewRows"
	checkSize(fn, "n", n)
	checkSize(fn, "dim", dim)
	r := &Rows{format: f, dim: dim}
	switch size := mulLen(fn, n, dim); f {
	case FormatF32:
		r.wide = make([]float32, size)
	case FormatBF16, FormatF16:
		r.halves = make([]uint16, size)
	case FormatInt8:
		r.bytes, r.scales = make([]int8, size), make([]float32, n)
	default:
		panicSize(fn, "f", int(f), "want FormatF32, FormatBF16, FormatF16 or FormatInt8")
	}
	return r
}

// Format is the elements' format.
func (r *Rows) Format() Format { return r.format }

// Len is the number of elements of all rows.
func (r *Rows) Len() int { return len(r.wide) + len(r.halves) + len(r.bytes) }

// Dim is the number of elements of a row.
func (r *Rows) Dim() int { return r.dim }

// at checks that n rows begin at element i.
func (r *Rows) at(fn, arg string, i, n int) {
	if i < 0 || i%max(r.dim, 1) != 0 || i > r.Len()-mulLen(fn, n, r.dim) {
		panicSize(fn, arg, i, fmt.Sprintf("want the beginning of %d rows of %d in %d elements", n, r.dim, r.Len()))
	}
}

// Set sets the row that begins at element i to x, rounded to the format. A row with NaN or an
// infinity is all NaN in FormatInt8.
func (r *Rows) Set(i int, x []float32) {
	checkLen("Rows.Set", "x", len(x), r.dim, "Dim")
	r.at("Rows.Set", "i", i, 1)
	if r.dim == 0 {
		return
	}
	switch r.format {
	case FormatF32:
		copy(r.wide[i:], x)
	case FormatBF16:
		for p, v := range x {
			r.halves[i+p] = half.ToBFloat16(v)
		}
	case FormatF16:
		for p, v := range x {
			r.halves[i+p] = half.ToFloat16(v)
		}
	default:
		scale, inverse := simd.QuantizeBlock(x)
		r.scales[i/r.dim] = scale
		for p, v := range x {
			r.bytes[i+p] = int8(simd.QuantizeOne(v, inverse))
		}
	}
}

// Row sets dst, Dim elements, to the row that begins at element i.
func (r *Rows) Row(dst []float32, i int) {
	checkLen("Rows.Row", "dst", len(dst), r.dim, "Dim")
	r.at("Rows.Row", "i", i, 1)
	if r.format == FormatF32 {
		copy(dst, r.wide[i:])
		return
	}
	r.widen(Active(), dst, i, 1, r.dim)
}

// Floats is the elements of all rows, not a copy, in FormatF32, and nil in others.
func (r *Rows) Floats() []float32 { return r.wide }

// From is the rows from that which begins at element i on, not a copy.
func (r *Rows) From(i int) *Rows {
	r.at("Rows.From", "i", i, 0)
	rest := *r
	switch r.format {
	case FormatF32:
		rest.wide = r.wide[i:]
	case FormatInt8:
		rest.bytes, rest.scales = r.bytes[i:], r.scales[i/max(r.dim, 1):]
	default:
		rest.halves = r.halves[i:]
	}
	return &rest
}

// Copy copies n rows of src from element from on to those of r from element to on. Both have
// the same format and width, and may be the same.
func (r *Rows) Copy(to int, src *Rows, from, n int) {
	const fn = "Rows.Copy"
	if src == nil || r.format != src.format || r.dim != src.dim {
		panic(fmt.Sprintf("kernels.%s: src is not of rows of %d in %v", fn, r.dim, r.format))
	}
	checkSize(fn, "n", n)
	r.at(fn, "to", to, n)
	src.at(fn, "from", from, n)
	size := n * r.dim
	if size == 0 {
		return
	}
	switch r.format {
	case FormatF32:
		copy(r.wide[to:to+size], src.wide[from:])
	case FormatInt8:
		copy(r.bytes[to:to+size], src.bytes[from:])
		copy(r.scales[to/r.dim:][:n], src.scales[from/r.dim:])
	default:
		copy(r.halves[to:to+size], src.halves[from:])
	}
}

// unlessNarrow is the operands of attention with rows that are float32 as a slice.
func unlessNarrow(wide []float32, rows *Rows) ([]float32, *Rows) {
	if rows != nil && rows.format == FormatF32 {
		return rows.wide, nil
	}
	return wide, rows
}

// widen makes n narrow rows from element i on float32, one after the other; in between lie stride elements.
func (r *Rows) widen(isa ISA, dst []float32, i, n, stride int) {
	const most = 1 << 13 // elements of a call
	dim := r.dim
	if n*dim == 0 {
		return
	}
	if r.format == FormatInt8 {
		rows := max(1, most/dim)
		for row := 0; row < n; row += rows {
			at := i + row*stride
			simd.WidenInt8(isa, dst[row*dim:], r.bytes[at:], r.scales[at/dim:], min(rows, n-row), dim, stride, stride/dim)
		}
		return
	}
	vec, run := simd.BFloat16Vec, dim
	if r.format == FormatF16 {
		vec = simd.Float16Vec
	}
	if stride == dim {
		n, run = 1, n*dim
	}
	for row := range n {
		from, to := r.halves[i+row*stride:][:run], dst[row*run:][:run]
		for p := 0; p < run; p += most {
			vec(isa, to[p:min(p+most, run)], from[p:min(p+most, run)])
		}
	}
}
