package checkpoint

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/avoformer/avoformer/fault"
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

// NewTable returns the table with vectors, [rows, dim], which it keeps.
func NewTable(rows, dim int, vectors []float32) *Table {
	return &Table{rows: rows, dim: dim, wide: vectors}
}

// Table returns the tensor weight, [rows, dim]. Its vectors are there once Finish has returned. A tensor that the checkpoint lacks
// is missing unless a projection that is tied to the table has it.
func (s Scope) Table(rows, dim int) *Table {
	t := &Table{rows: rows, dim: dim}
	s.noneBeside("weight")
	u := &unread{Table: t, from: s}
	if len(s.names) > 0 && s.read == nil && !s.Has("weight") {
		u.absent = true
		s.tables = append(s.tables, u)
	} else if data, ok := s.find("weight", rows, dim); ok && s.takes("weight", rows, dim) {
		u.data = data
		s.tables = append(s.tables, u)
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
	from   Scope
	data   []float32 // what find gave
	tied   bool      // a projection does
	absent bool      // the checkpoint has no such tensor
}

// Tied returns the weight of the projection to the vocabulary that the configuration ties to t. The two are one matrix in memory
// unless something tells them apart: a tensor weight with other elements, as transformers 5 takes it, or what an adapter does
// to one of them. Where the checkpoint has the tensor weight alone, t is that.
func (s Scope) Tied(t *Table) *Matrix {
	s.noneBeside("weight")
	u, apart, ok := s.tie(t)
	switch {
	case !ok:
		return nil
	case apart:
		weight, _ := s.Stacked(t.dim, false, []Part{{Rows: t.rows}})
		return weight
	}
	u.tied = true
	return &t.packed
}

// TiedTable returns the table that the configuration ties to t: t, or another one as with Tied.
func (s Scope) TiedTable(t *Table) *Table {
	switch _, apart, ok := s.tie(t); {
	case !ok:
		return nil
	case apart:
		return s.Table(t.rows, t.dim)
	}
	return t
}

// tie reports whether the tensor weight, which the configuration ties to the table t, is another one all the same; ok is false
// if there can be none. Where the checkpoint has no weight, s reads that of the table from now on.
func (s *Scope) tie(t *Table) (u *unread, apart, ok bool) {
	at := slices.IndexFunc(s.tables, func(u *unread) bool { return u.Table == t })
	if at < 0 {
		s.Fail(check.Errorf(fault.ErrConfig, "%s: tied to an embedding of another checkpoint", s.Name()))
		return nil, false, false
	}
	u = s.tables[at]
	own := s.Has("weight")
	if own && !s.fits("weight", t.rows, t.dim) {
		s.find("weight", t.rows, t.dim) // which notes why
		return nil, false, false
	}
	if own && s.replacesTied(u) {
		s.Fail(check.Errorf(fault.ErrConfig, "%s: a tensor in its place, which is its table's as well: not supported", s.Name()))
		return nil, false, false
	}
	if own && u.absent {
		read := *s
		read.original = s.replaced[s.lookup("weight")].Apart
		u.from.read, u.absent = &read, false
		u.data, _ = u.from.find("weight", t.rows, t.dim)
	}
	if !own {
		read := u.from
		read.original = true
		s.read = &read
	}
	apart = !u.absent && s.apart(u, own)
	s.used[s.lookup("weight")] = true
	return u, apart, true
}

// apart reports whether the weight of a projection is another one than that of the table that it is tied to.
func (s Scope) apart(u *unread, own bool) bool {
	table := u.from
	switch {
	case s.changed("weight"),
		slices.ContainsFunc(table.additions("weight"), func(d LowRank) bool { return !d.Tied }),
		slices.ContainsFunc(table.replacedRows("weight"), func(r Rows) bool { return !r.Tied }):
		return true
	case !own:
		return table.replaced[table.lookup("weight")].Apart
	}
	return table.read == nil && !s.same(u)
}

// replacesTied reports whether another tensor than the table's takes the place of weight, and is not a copy: it would be the table's.
func (s Scope) replacesTied(u *unread) bool {
	head, ok := s.replaced[s.lookup("weight")]
	if !ok || head.Apart || u.absent || s.changed("weight") || u.from.changed("weight") {
		return false
	}
	return !u.from.replaced[u.from.lookup("weight")].Apart && !s.same(u)
}

// same reports whether the tensor weight is that of a table.
func (s Scope) same(u *unread) bool {
	data, ok := s.find("weight", u.rows, u.dim)
	if !ok {
		return true // which is noted
	}
	all := []Part{{Rows: u.rows}}
	var differ atomic.Bool
	var jobs []job
	for at := range pieces(u.rows, u.dim) {
		jobs = append(jobs, job{at.rows * u.dim, func(buf *jobBuffers) {
			for from, to := at.from, at.from+at.rows; from < to && !differ.Load(); {
				n := min(16, to-from)
				a, b := buf.floats(2 * n * u.dim)[:n*u.dim], buf.floats(2 * n * u.dim)[n*u.dim:2*n*u.dim]
				s.readRows(a, u.dim, from, all, [][]float32{data})
				u.from.readRows(b, u.dim, from, all, [][]float32{u.data})
				if !slices.Equal(a, b) {
					differ.Store(true)
				}
				from += n
			}
		}})
	}
	runJobs(jobs)
	return !differ.Load()
}

// format is the format in which the vectors are held.
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
		if u.wide = u.data; u.wide == nil || u.from.changed("weight") {
			u.wide = make([]float32, u.rows*u.dim)
			u.pieces(func(_ *jobBuffers, from, to int) {
				u.from.readChanged(u.wide[from*u.dim:to*u.dim], u.data, "weight", from*u.dim)
			})
		}
		return
	}
	u.from.pack(&u.packed, format, u.dim, []Part{{Rows: u.rows}}, [][]float32{u.data}, false)
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
