package checkpoint

import (
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels"
)

// This file loads tables of vectors.

// A Table is vectors as the checkpoint has them, or as it was told to: in float32, 16
// bits, int8 or blocks; or shared with the projection to the vocabulary.
type Table struct {
	rows, dim int
	wide      []float32 // [rows, dim], or
	half      []uint16  // the same in 16 bits, as
	widen     func(uint16) float32
	packed    Matrix // or as the columns of this
}

// NewTable is the table with vectors, [rows, dim], which it keeps.
func NewTable(rows, dim int, vectors []float32) *Table {
	return &Table{rows: rows, dim: dim, wide: vectors}
}

// Table is the tensor weight, [rows, dim]. Its vectors are there once Finish has returned.
func (s Scope) Table(rows, dim int) *Table {
	t := &Table{rows: rows, dim: dim}
	if data, ok := s.find("weight", rows, dim); ok && s.takes("weight", rows, dim) {
		s.tables = append(s.tables, &unread{Table: t, from: s, data: data})
	}
	return t
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

// unread is a table of which it is not known yet whether a projection shares its vectors.
type unread struct {
	*Table
	from Scope
	data []float32 // what find gave
	tied bool      // a projection does
}

// Tied is the weight of the projection to the vocabulary that t is, which from now on takes
// its vectors from there. If there is the tensor weight all the same, it must be equal.
func (s Scope) Tied(t *Table) *Matrix {
	at := slices.IndexFunc(s.tables, func(u *unread) bool { return u.Table == t })
	if at < 0 {
		s.Fail(check.Errorf(check.ErrConfig, "%s: tied to an embedding of another checkpoint", s.Name()))
		return nil
	}
	u := s.tables[at]
	u.tied = true
	for _, d := range slices.Concat(s.additions("weight"), u.from.additions("weight")) {
		s.Fail(check.Errorf(check.ErrConfig, "%s adds to one of two weights that the model holds as one, the embedding's and the projection's to the vocabulary: not supported", d.Name))
	}
	if s.Has("weight") {
		if data, ok := s.find("weight", t.rows, t.dim); ok {
			s.later(t.rows*t.dim, func(buf *jobBuffers) { s.compare(buf, data, u) })
		}
	}
	return &t.packed
}

// compare notes an error unless the tensor weight, for which find gave data, is that of a
// table.
func (s Scope) compare(buf *jobBuffers, data []float32, u *unread) {
	all := []Part{{Rows: u.rows}}
	one, other := s.rows(buf, u.dim, all, [][]float32{data}), u.from.rows(new(jobBuffers), u.dim, all, [][]float32{u.data})
	a, b := make([]float32, u.dim), make([]float32, u.dim)
	for range u.rows {
		one(a)
		other(b)
		if !slices.Equal(a, b) {
			s.Fail(check.Errorf(check.ErrConfig, "%sweight differs from the embedding that the configuration ties it to", s.Prefix))
			return
		}
	}
}

// format is what the vectors are to be held in.
func (u *unread) format() kernels.Format { return u.from.packed("weight", !u.tied) }

// fill has the vectors read.
func (u *unread) fill() {
	format := u.format()
	switch {
	case u.tied:
	case format == kernels.FormatBF16:
		u.halves(half.ToBFloat16s, half.BFloat16)
		return
	case format == kernels.FormatF16:
		u.halves(half.ToFloat16s, half.Float16)
		return
	case format == kernels.FormatF32:
		if u.wide = u.data; u.wide == nil || len(u.from.additions("weight")) > 0 {
			u.wide = make([]float32, u.rows*u.dim)
			u.pieces(func(_ *jobBuffers, from, to int) {
				u.from.read(u.wide[from*u.dim:to*u.dim], u.data, "weight", from*u.dim)
			})
		}
		return
	}
	u.from.later(u.rows*u.dim, func(buf *jobBuffers) {
		u.packed.PackedB = u.from.pack(buf, format, u.dim, []Part{{Rows: u.rows}}, [][]float32{u.data})
	})
}

// pieces has f called for pieces of the table: rows from up to to.
func (u *unread) pieces(f func(buf *jobBuffers, from, to int)) {
	rows := max(1<<20/u.dim, 1)
	for from := 0; from < u.rows; from += rows {
		to := min(from+rows, u.rows)
		u.from.later((to-from)*u.dim, func(buf *jobBuffers) { f(buf, from, to) })
	}
}

// halves has the table filled with what the checkpoint has in 16 bits.
func (u *unread) halves(narrow func(dst []uint16, x []float32), widen func(uint16) float32) {
	u.half, u.widen = make([]uint16, u.rows*u.dim), widen
	u.pieces(func(buf *jobBuffers, from, to int) {
		next := u.from.rows(buf, u.dim, []Part{{From: from, Rows: to - from}}, [][]float32{u.data})
		row := make([]float32, u.dim)
		for r := from; r < to; r++ {
			next(row)
			narrow(u.half[r*u.dim:(r+1)*u.dim], row)
		}
	})
}
