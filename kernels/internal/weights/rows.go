package weights

import (
	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Rows of a cache of keys and values, which may be narrow and take half the memory or a quarter.

// Rows are rows of dim elements in a format.
type Rows struct {
	Format Format
	Dim    int
	Wide   []float32
	halves []uint16
	bytes  []int8
	scales []float32 // of the rows of bytes
}

// NewRows is n rows of zeros.
func NewRows(f Format, n, dim int) Rows {
	r := Rows{Format: f, Dim: dim}
	switch size := n * dim; f {
	case F32:
		r.Wide = make([]float32, size)
	case BF16, F16:
		r.halves = make([]uint16, size)
	case Int8:
		r.bytes, r.scales = make([]int8, size), make([]float32, min(n, size)) // none for rows without elements
	}
	return r
}

// Len is the number of elements of all rows.
func (r *Rows) Len() int { return len(r.Wide) + len(r.halves) + len(r.bytes) }

// Set sets the row that begins at element i to x.
func (r *Rows) Set(i int, x []float32) {
	if r.Dim == 0 {
		return
	}
	switch r.Format {
	case F32:
		copy(r.Wide[i:], x)
	case BF16:
		for p, v := range x {
			r.halves[i+p] = half.ToBFloat16(v)
		}
	case F16:
		for p, v := range x {
			r.halves[i+p] = half.ToFloat16(v)
		}
	default:
		scale, inverse := simd.QuantizeBlock(x)
		r.scales[i/r.Dim] = scale
		for p, v := range x {
			r.bytes[i+p] = int8(simd.QuantizeOne(v, inverse))
		}
	}
}

// From is the rows from that which begins at element i on, not a copy.
func (r *Rows) From(i int) Rows {
	rest := *r
	switch r.Format {
	case F32:
		rest.Wide = r.Wide[i:]
	case Int8:
		rest.bytes, rest.scales = r.bytes[i:], r.scales[i/max(r.Dim, 1):]
	default:
		rest.halves = r.halves[i:]
	}
	return rest
}

// Copy copies n rows of src from element from on to those of r from element to on.
func (r *Rows) Copy(to int, src *Rows, from, n int) {
	size := n * r.Dim
	if size == 0 {
		return
	}
	switch r.Format {
	case F32:
		copy(r.Wide[to:to+size], src.Wide[from:])
	case Int8:
		copy(r.bytes[to:to+size], src.bytes[from:])
		copy(r.scales[to/r.Dim:][:n], src.scales[from/r.Dim:])
	default:
		copy(r.halves[to:to+size], src.halves[from:])
	}
}

// Widen makes n narrow rows from element i on float32, one after the other; in between lie stride elements.
func (r *Rows) Widen(isa simd.ISA, dst []float32, i, n, stride int) {
	const most = 1 << 13 // elements of a call
	dim := r.Dim
	if n*dim == 0 {
		return
	}
	if r.Format == Int8 {
		rows := max(1, most/dim)
		for row := 0; row < n; row += rows {
			at := i + row*stride
			simd.WidenInt8(isa, dst[row*dim:], r.bytes[at:], r.scales[at/dim:], min(rows, n-row), dim, stride, stride/dim)
		}
		return
	}
	vec, run := simd.BFloat16Vec, dim
	if r.Format == F16 {
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
