package checkpoint

import (
	"cmp"
	"errors"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/kernels"
)

// Packing: from a checkpoint's rows to packed weights on all threads, without a copy of the whole
// matrix in between.

// fill returns what fills the slots of the plan.
func (p *Plan) fill() (all []job) {
	for _, v := range p.tables {
		all = append(all, v.jobs(p)...)
	}
	for _, m := range p.matrices {
		first, many := p.Formats.matrix(m)
		all = append(all, newPacking(p, m, m.slot, first, true).jobs()...)
		if many != first {
			m.slot.many = cmp.Or(m.slot.many, new(Matrix))
			all = append(all, newPacking(p, m, m.slot.many, many, true).jobs()...)
		}
		m.Strips = nil // tensors in memory are dropped once they are packed
	}
	return all
}

// packing is a matrix that jobs pack into a slot.
type packing struct {
	*matrix
	plan     *Plan
	slot     *Matrix
	format   kernels.Format
	strips   []Strip // nil once all rows are packed
	balanced bool    // of int8: products are more accurate, and single rows less
	row      int     // bytes of a row that is read as it is stored; 0: rows are read as numbers

	begin  sync.Once
	packer *kernels.Packer
	left   atomic.Int32 // pieces to pack
}

func newPacking(plan *Plan, m *matrix, slot *Matrix, format kernels.Format, balanced bool) *packing {
	p := &packing{matrix: m, plan: plan, slot: slot, format: format, strips: m.Strips, balanced: balanced && format == kernels.FormatInt8}
	if elements, bytes := format.Block(); elements > 0 && m.In%elements == 0 && p.isStored() {
		p.row = m.In / elements * bytes
	}
	return p
}

// isStored reports whether all rows are stored in the format.
func (p *packing) isStored() bool {
	for _, s := range p.strips {
		if s.scales() || s.tensor.Format() != p.format {
			return false
		}
	}
	return p.format != kernels.FormatF32
}

// jobs returns what packs the pieces of the matrix: one if it is stored transposed, which is read
// at once.
func (p *packing) jobs() (all []job) {
	for at := range p.pieces() {
		all = append(all, job{at.rows * p.In, func(buf *jobBuffers) { p.piece(buf, at) }})
	}
	p.left.Store(int32(len(all)))
	return all
}

func (p *packing) pieces() iter.Seq[piece] {
	if p.transposed {
		return func(yield func(piece) bool) { yield(piece{0, p.out}) }
	}
	return pieces(p.out, p.In)
}

// piece packs some rows, a panel's at a time.
func (p *packing) piece(buf *jobBuffers, at piece) {
	p.begin.Do(p.start)
	size := 4 * p.In
	if p.row > 0 {
		size = p.row
	}
	unit := p.packer.Rows()
	step := max(1<<17/(unit*size), 1) * unit // what it reads stays in the second-level cache
	for from, end := at.from, at.from+at.rows; from < end; from += step {
		n := min(step, end-from)
		if p.row > 0 {
			if x := buf.bytes(n * p.row)[:n*p.row]; p.readBlocks(x, from) {
				p.packer.PackBlocks(from, x)
				continue
			}
		}
		x := buf.floats(n * p.In)[:n*p.In]
		p.plan.readRows(x, p.strips, p.In, from)
		p.packer.Pack(from, x)
	}
	if p.left.Add(-1) == 0 {
		p.strips = nil
	}
}

// start allocates the packed matrix.
func (p *packing) start() {
	p.packer = kernels.NewPacker(p.format, p.out, p.In)
	if p.balanced {
		p.packer.Balance(p.sample())
	}
	p.slot.PackedB = p.packer.Packed()
}

// readBlocks sets dst to rows as they are stored. It returns false if the source cannot do that.
func (p *packing) readBlocks(dst []byte, from int) bool {
	return eachRun(p.strips, p.In, from, len(dst)/p.row, func(s *Strip, first, at, n int) error {
		x := dst[at*p.row:][:n*p.row]
		err := s.tensor.ReadBlocks(x, first)
		if err == nil || errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		p.plan.note(s.Weight, err)
		clear(x)
		return nil
	}) == nil
}

// readRows sets dst to rows of all strips from one of them on.
func (p *Plan) readRows(dst []float32, strips []Strip, in, from int) {
	_ = eachRun(strips, in, from, len(dst)/in, func(s *Strip, first, at, n int) error {
		x := dst[at*in:][:n*in]
		p.read(s.Weight, s.tensor, x, first)
		scale(x, s.Scale)
		return nil
	})
}

// sampleRows is about how many rows tell how large the weights are for each input.
const sampleRows = 256

// sample is rows by which int8 is balanced. Where several layers are side by side, they are the
// last one's: values come after queries and keys, and what is rounded of them costs ten times as
// much. Of a matrix that is stored transposed they are of all.
func (p *packing) sample() (x []float32) {
	switch {
	case p.Together != nil:
		for _, s := range p.Together {
			s.tensor, _ = p.plan.source.open(s.Weight)
			x = p.sampleOf(x, []Strip{s}, s.Rows)
		}
		return x
	case p.transposed:
		return p.sampleOf(nil, p.strips, p.out)
	}
	last := p.strips[len(p.strips)-1:]
	return p.sampleOf(nil, last, last[0].Rows)
}

// sampleOf adds some of the rows of strips to x.
func (p *packing) sampleOf(x []float32, strips []Strip, rows int) []float32 {
	for row := 0; row < rows; row += max(1, rows/sampleRows) {
		at := len(x)
		x = append(x, make([]float32, p.In)...)
		p.plan.readRows(x[at:], strips, p.In, row)
	}
	return x
}
