package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// Rows of a cache of keys and values. Attention reads them where they lie.

// Rows are rows of dim elements: float32, FormatF32; of 16 bits, FormatBF16 or FormatF16; or
// integers of at most 127 with a scale for each row, FormatInt8. Rows may be read by several
// goroutines while none sets them.
type Rows struct{ rows weights.Rows }

// NewRows is n rows of zeros.
func NewRows(f Format, n, dim int) *Rows {
	const fn = "NewRows"
	mem.CheckSize(fn, "n", n)
	mem.CheckSize(fn, "dim", dim)
	switch f {
	case FormatF32, FormatBF16, FormatF16, FormatInt8:
	default:
		mem.PanicSize(fn, "f", int(f), "want FormatF32, FormatBF16, FormatF16 or FormatInt8")
	}
	mem.MulLen(fn, n, dim)
	return &Rows{weights.NewRows(weights.Format(f), n, dim)}
}

// Format is the elements' format.
func (r *Rows) Format() Format { return Format(r.rows.Format) }

// Len is the number of elements of all rows.
func (r *Rows) Len() int { return r.rows.Len() }

// Dim is the number of elements of a row.
func (r *Rows) Dim() int { return r.rows.Dim }

// at checks that n rows begin at element i.
func (r *Rows) at(fn, arg string, i, n int) {
	dim := r.rows.Dim
	if i < 0 || i%max(dim, 1) != 0 || i > r.Len()-mem.MulLen(fn, n, dim) {
		mem.PanicSize(fn, arg, i, fmt.Sprintf("want the beginning of %d rows of %d in %d elements", n, dim, r.Len()))
	}
}

// Set sets the row that begins at element i to x, rounded to the format. A row with NaN or an
// infinity is all NaN in FormatInt8.
func (r *Rows) Set(i int, x []float32) {
	mem.CheckLen("Rows.Set", "x", len(x), r.rows.Dim, "Dim")
	r.at("Rows.Set", "i", i, 1)
	r.rows.Set(i, x)
}

// Row sets dst, Dim elements, to the row that begins at element i.
func (r *Rows) Row(dst []float32, i int) {
	mem.CheckLen("Rows.Row", "dst", len(dst), r.rows.Dim, "Dim")
	r.at("Rows.Row", "i", i, 1)
	if r.rows.Format == weights.F32 {
		copy(dst, r.rows.Wide[i:])
		return
	}
	r.rows.Widen(simd.Active(), dst, i, 1, r.rows.Dim)
}

// Floats is the elements of all rows, not a copy, in FormatF32, and nil in others.
func (r *Rows) Floats() []float32 { return r.rows.Wide }

// From is the rows from that which begins at element i on, not a copy.
func (r *Rows) From(i int) *Rows {
	r.at("Rows.From", "i", i, 0)
	return &Rows{r.rows.From(i)}
}

// Copy copies n rows of src from element from on to those of r from element to on. Both have
// the same format and width, and may be the same.
func (r *Rows) Copy(to int, src *Rows, from, n int) {
	const fn = "Rows.Copy"
	if src == nil || r.rows.Format != src.rows.Format || r.rows.Dim != src.rows.Dim {
		panic(fmt.Sprintf("kernels.%s: src is not of rows of %d in %v", fn, r.rows.Dim, r.rows.Format))
	}
	mem.CheckSize(fn, "n", n)
	r.at(fn, "to", to, n)
	src.at(fn, "from", from, n)
	r.rows.Copy(to, &src.rows, from, n)
}

// operand is the rows as attention takes them: float32 as a slice.
func (r *Rows) operand() (wide []float32, narrow *weights.Rows) {
	if r.rows.Format == weights.F32 {
		return r.rows.Wide, nil
	}
	return nil, &r.rows
}
