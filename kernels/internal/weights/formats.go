package weights

import (
	"slices"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// What each format is made of.

// Of is the record of a format on a tier, with the features that are in use.
func Of(f Format, isa simd.ISA) *Record {
	mr, nr := simd.GemmTile(isa)
	r := &Record{Format: f, ISA: isa, MR: mr, NR: nr}
	switch f {
	case F32:
		r.Steps, r.bytes, r.hasTail = 1, 4*nr, true
		r.pack = func(panel []byte, _, columns []float32, n, k int) {
			b := pack.B{Data: columns, LD: k, Trans: true}
			b.PackPanels(isa, mem.Floats(panel), 0, 0, k, n, nr)
		}
		r.column = func(dst []float32, panel []byte, j int) {
			for p, x := 0, mem.Floats(panel); p < len(dst); p++ {
				dst[p] = x[p*nr+j]
			}
		}
	case BF16:
		halfFormat(r, half.ToBFloat16s, half.BFloat16, simd.BFloat16Vec)
	case F16:
		halfFormat(r, half.ToFloat16s, half.Float16, simd.Float16Vec)
	case Int8:
		int8Format(r)
	case Q8_0, Q4_0, Q4_K, Q6_K:
		blocksFormat(r)
	}
	return r
}

// ByName is the format of that name.
func ByName(name string) (f Format, ok bool) {
	i := slices.Index(Names[:], name)
	return Format(max(i, 0)), i >= 0
}

// Block is how many elements a block of the format has in a file, and how many bytes: those of
// GGUF's type of that name, or of one number. They are 0 for int8, which files do not have.
func (f Format) Block() (elements, bytes int) {
	switch f {
	case F32:
		return 1, 4
	case BF16, F16:
		return 1, 2
	}
	l := blockLayouts[f]
	return l.Elements, l.file
}
