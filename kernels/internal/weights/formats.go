package weights

import (
	"slices"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has the records of the formats.

// Of returns the record of a format on a tier, with the features that are in use.
func Of(f Format, isa simd.ISA) *Record {
	mr, nr := simd.GemmTile(isa)
	r := &Record{Format: f, ISA: isa, MR: mr, NR: nr}
	switch f {
	case F32:
		r.Steps, r.bytes = 1, 4*nr
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
	case BF16Fast:
		fastFormat(r)
	case Int8:
		int8Format(r)
	default:
		blocksFormat(r)
	}
	return r
}

// blockLayouts are the records of formats in blocks. Each has the layout, its kernel, the integer
// that means 0, and the bytes of a block in a file. The functions after these convert numbers to a
// block, the bytes of a file to a block of a panel, and a block to these bytes; the last one
// converts two columns of a block of a panel at a time.
var blockLayouts = [len(Names)]blockLayout{
	Q8_0:  {simd.Blocks8Layout, simd.KernelBlocks8, 128, 34, quantizeQ8_0, repackQ8_0, encodeQ8_0, repackPairQ8_0},
	Q4_0:  {simd.Blocks4Layout, simd.KernelBlocks4, 8, 18, quantizeQ4_0, repackQ4_0, encodeQ4_0, nil},
	Q4_1:  {simd.Blocks4MinLayout, simd.KernelBlocks4Min, 0, 20, quantizeQ4_1, repackQ4_1, encodeQ4_1, nil},
	Q5_0:  {simd.Blocks5Layout, simd.KernelBlocks5, 16, 22, quantizeQ5_0, repackQ5_0, encodeQ5_0, nil},
	Q5_1:  {simd.Blocks5MinLayout, simd.KernelBlocks5Min, 0, 24, quantizeQ5_1, repackQ5_1, encodeQ5_1, nil},
	Q4_K:  {simd.Blocks4KLayout, simd.KernelBlocks4K, 0, 144, quantizeQ4_K, repackQ4_K, encodeQ4_K, nil},
	Q5_K:  {simd.Blocks5KLayout, simd.KernelBlocks5K, 0, 176, quantizeQ5_K, repackQ5_K, encodeQ5_K, nil},
	Q6_K:  {simd.Blocks6KLayout, simd.KernelBlocks6K, 32, 210, quantizeQ6_K, repackQ6_K, encodeQ6_K, nil},
	MXFP4: {simd.BlocksCodesLayout, simd.KernelBlocksCodes, 16, 17, quantizeMXFP4, repackMXFP4, encodeMXFP4, nil},

	IQ4_NL: {simd.Blocks4NLLayout, simd.KernelBlocks4NL, 128, 18, quantizeIQ4_NL, repackQ4_0, encodeQ4_0, nil},
	IQ4_XS: {simd.Blocks4NLKLayout, simd.KernelBlocks4NLK, 128, 136, quantizeIQ4_XS, repackIQ4_XS, encodeIQ4_XS, nil},
	Q3_K:   {simd.Blocks3KLayout, simd.KernelBlocks3K, 4, 110, quantizeQ3_K, repackQ3_K, encodeQ3_K, nil},
}

// ByName returns the format of that name.
func ByName(name string) (f Format, ok bool) {
	i := slices.Index(Names[:], name)
	return Format(max(i, 0)), i >= 0
}

// Block returns the number of elements of a block in a file, and its number of bytes: those of
// GGUF's type of that name, or of a single number. They are 0 for int8 and bf16_fast, which files
// do not have.
func (f Format) Block() (elements, bytes int) {
	switch f {
	case F32:
		return 1, 4
	case BF16, F16:
		return 1, 2
	}
	if int(f) >= len(blockLayouts) {
		return 0, 0
	}
	l := &blockLayouts[f]
	return l.Elements, l.file
}
