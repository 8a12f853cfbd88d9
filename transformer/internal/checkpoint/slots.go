package checkpoint

import "github.com/avoformer/avoformer/kernels"

// This file has the slots of linear layers and embeddings, which Finish fills.

// Matrix is the weight of a linear layer, which exists once Finish has returned, and the products
// that adapters add to it.
type Matrix struct {
	*kernels.PackedB
	Beside []Beside
	many   *Matrix // the same in another format, for products of ManyRows rows and more; or nil
}

// ManyRows is from how many rows on products are with a second copy of the weights, if there is
// one: more than texts that are generated at a time mostly, and few enough for prompts.
const ManyRows = 64

// For returns the copy for products of some rows.
func (m *Matrix) For(rows int) *kernels.PackedB {
	if m.many != nil && rows >= ManyRows {
		return m.many.PackedB
	}
	return m.PackedB
}

// Is reports whether m is there and has the given sizes.
func (m *Matrix) Is(in, out int) bool {
	return m != nil && m.PackedB != nil && m.K() == in && m.N() == out
}

// A Table is vectors as the checkpoint has them, or as it was told to: in float32, 16 bits, int8 or
// blocks; or shared with the projection to the vocabulary.
type Table struct {
	rows, dim int
	wide      []float32 // [rows, dim], or
	half      []uint16  // the same in 16 bits, as
	widen     func(uint16) float32
	packed    Matrix // or as the columns of this
}

// NewTable returns the table with vectors, [rows, dim], which it keeps.
func NewTable(rows, dim int, vectors []float32) *Table {
	return &Table{rows: rows, dim: dim, wide: vectors}
}

// Is reports whether the vectors are there, in the given sizes.
func (t *Table) Is(rows, dim int) bool {
	return t != nil && t.rows == rows && t.dim == dim &&
		(len(t.wide) == rows*dim || len(t.half) == rows*dim || t.packed.Is(dim, rows))
}

// Row sets dst, [dim], to a vector.
func (t *Table) Row(dst []float32, row int) {
	switch {
	case t.packed.PackedB != nil:
		t.packed.Column(dst, row)
	case t.half != nil:
		for i, h := range t.half[row*t.dim : (row+1)*t.dim] {
			dst[i] = t.widen(h)
		}
	default:
		copy(dst, t.wide[row*t.dim:(row+1)*t.dim])
	}
}
