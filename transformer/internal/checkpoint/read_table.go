package checkpoint

import (
	"encoding/binary"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels"
)

// Reading tables of vectors.

// jobs returns what reads the vectors.
func (v *vectors) jobs(p *Plan) []job {
	format := p.Formats.table(v)
	switch {
	case v.tied:
	case format == kernels.FormatBF16:
		return v.halves(p, format, half.ToBFloat16s)
	case format == kernels.FormatF16:
		return v.halves(p, format, half.ToFloat16s)
	case format == kernels.FormatF32:
		return v.floats(p)
	}
	return newPacking(p, v.stack(), &v.packed, format, false).jobs()
}

// floats returns what fills the table in float32.
func (v *vectors) floats(p *Plan) []job {
	if m, ok := v.tensor.(inMemory); ok {
		return []job{{v.rows * v.dim, func(*jobBuffers) {
			x, err := m.elements()
			if err != nil {
				p.note(v.want, err)
			}
			v.wide = x
		}}}
	}
	v.wide = make([]float32, v.rows*v.dim)
	return v.pieces(func(_ *jobBuffers, from, to int) { p.read(v.want, v.tensor, v.wide[from*v.dim:to*v.dim], from*v.dim) })
}

// halves returns what fills the table in 16 bits.
func (v *vectors) halves(p *Plan, format kernels.Format, narrow func(dst []uint16, x []float32)) []job {
	v.half, v.widen = make([]uint16, v.rows*v.dim), widenOf(format)
	return v.pieces(func(buf *jobBuffers, from, to int) {
		piece := v.half[from*v.dim : to*v.dim]
		if v.stored == format && readHalves(v.tensor, piece, from*v.dim) == nil {
			return
		}
		for row := buf.floats(v.dim)[:v.dim]; from < to; from++ {
			p.read(v.want, v.tensor, row, from*v.dim)
			narrow(piece[:v.dim], row)
			piece = piece[v.dim:]
		}
	})
}

// readHalves is ReadBlocks for numbers of 16 bits.
func readHalves(t Tensor, dst []uint16, from int) error {
	raw := bytesOf(dst)
	if err := t.ReadBlocks(raw, from); err != nil {
		return err
	}
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		for i := range dst { // as files have them, and now as the machine has
			dst[i] = binary.LittleEndian.Uint16(raw[2*i:])
		}
	}
	return nil
}

// pieces has f called for pieces of the table: rows from up to to.
func (v *vectors) pieces(f func(buf *jobBuffers, from, to int)) (all []job) {
	for at := range pieces(v.rows, v.dim) {
		all = append(all, job{at.rows * v.dim, func(buf *jobBuffers) { f(buf, at.from, at.from+at.rows) }})
	}
	return all
}
