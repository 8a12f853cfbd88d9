package checkpoint

import (
	"encoding/binary"
	"slices"
	"unsafe"

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
	s.noneBeside("weight")
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
	s.noneBeside("weight")
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
	const together = 16
	for from := 0; from < u.rows; from += together {
		n := min(together, u.rows-from) * u.dim
		a, b := buf.floats(2 * n)[:n], buf.floats(2 * n)[n:2*n]
		s.readRows(a, u.dim, from, all, [][]float32{data})
		u.from.readRows(b, u.dim, from, all, [][]float32{u.data})
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
		u.halves(format, half.ToBFloat16s, half.BFloat16)
		return
	case format == kernels.FormatF16:
		u.halves(format, half.ToFloat16s, half.Float16)
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
	u.from.pack(&u.packed, format, u.dim, []Part{{Rows: u.rows}}, [][]float32{u.data})
}

// pieces has f called for pieces of the table: rows from up to to.
func (u *unread) pieces(f func(buf *jobBuffers, from, to int)) {
	for at := range pieces(u.rows, u.dim) {
		u.from.later(at.rows*u.dim, func(buf *jobBuffers) { f(buf, at.from, at.from+at.rows) })
	}
}

// halves has the table filled with what the checkpoint has in 16 bits.
func (u *unread) halves(format kernels.Format, narrow func(dst []uint16, x []float32), widen func(uint16) float32) {
	u.half, u.widen = make([]uint16, u.rows*u.dim), widen
	stored := u.from.holds("weight", format)
	u.pieces(func(buf *jobBuffers, from, to int) {
		piece := u.half[from*u.dim : to*u.dim]
		if stored && u.from.fetchHalves(piece, "weight", from*u.dim) {
			return
		}
		for all := []Part{{Rows: u.rows}}; from < to; from++ {
			row := buf.floats(u.dim)[:u.dim]
			u.from.readRows(row, u.dim, from, all, [][]float32{u.data})
			narrow(piece[:u.dim], row)
			piece = piece[u.dim:]
		}
	})
}

// fetchHalves is fetchBlocks for numbers of 16 bits.
func (s Scope) fetchHalves(dst []uint16, name string, from int) bool {
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), 2*len(dst))
	if !s.fetchBlocks(raw, name, from) {
		return false
	}
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		for i := range dst { // as files have them, and now as the machine has
			dst[i] = binary.LittleEndian.Uint16(raw[2*i:])
		}
	}
	return true
}
