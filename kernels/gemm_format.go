package kernels

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// The formats of packed weights. What the drivers know of one stands in its record.
//
// To add one: a Format and its name, its record in formatOf, and the functions that the
// record names. That is all that GemmPacked needs: it has a panel made float32 by widen
// whenever it uses it. A kernel for one row is called by PackedB.gemv; a format whose rows
// of A are not float32 has loops of its own, as int8 has in gemm_int8.go.

// Format says what the elements of a packed matrix are.
type Format uint8

// The formats.
const (
	FormatF32  Format = iota // float32, as given
	FormatBF16               // bfloat16, rounded to nearest: half the memory
	FormatF16                // IEEE 754 binary16, rounded to nearest; beyond 65504 it is infinite
	FormatInt8               // integers of at most 127 with a scale for each column; so become the rows of A
	FormatQ8_0               // integers of at most 127 with a scale of 16 bits for each 32 of a column
	FormatQ4_0               // integers from -8 to 7 with a scale of 16 bits for each 32 of a column
	FormatQ4_K               // integers from 0 to 15, each 32 with a scale and a minimum of 6 bits, each 256 with two of 16
	FormatQ6_K               // integers from -32 to 31, each 16 with a scale of 8 bits, each 256 with one of 16
)

var formatNames = [...]string{"f32", "bf16", "f16", "int8", "q8_0", "q4_0", "q4_k", "q6_k"}

// String is the format's name in lower case.
func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// ParseFormat is the format of that name.
func ParseFormat(name string) (Format, error) {
	for i, n := range formatNames {
		if n == name {
			return Format(i), nil
		}
	}
	return FormatF32, fmt.Errorf("kernels: unknown format %q, want one of %s", name, strings.Join(formatNames[:], ", "))
}

// format is the record of a Format on one tier.
//
// A packed matrix is panels of nr columns, the last one filled up with zeros. A panel is
// blocks of some steps of k, one after the other. What the bytes of a block mean is known
// to pack, widen and the format's kernels alone. The ranges of steps that drivers ask for
// begin at a block.
type format struct {
	Format
	isa    ISA
	mr, nr int // the register tile: rows of A and columns of B that the micro-kernel takes
	steps  int // steps of k in a block
	bytes  int // bytes of a block, with scales if it has any

	// pack writes a panel from n <= nr of its columns, each of them k contiguous
	// elements of columns, and the scales of its nr columns, if they have scales.
	pack func(panel []byte, scales, columns []float32, n, k int)
	// packFile is pack for columns in the blocks of files. It is nil where those hold numbers by
	// themselves.
	packFile func(panel, columns []byte, n, k int)
	// widen makes blocks float32: dst[p*nr+j] is step p of column j. It is nil where they
	// are float32 already, in that order, and where rows of A become integers in blocks.
	widen func(dst []float32, blocks []byte)
	// column makes column j of a panel float32.
	column func(dst []float32, panel []byte, j int)
	// hasTail says that the last columns may be dot products; see dotColumns. They lie
	// as float32, column by column, behind the panels.
	hasTail bool
	// int8 is how integers are multiplied, in formats that are; see gemm_int8.go.
	int8 int8Kind
	// blocks is the layout of formats in blocks; see gemm_blocks.go.
	blocks blockLayout
}

// formatOf is the record of a format on a tier, with the features that are in use.
func formatOf(f Format, isa ISA) *format {
	mr, nr := simd.GemmTile(isa)
	r := &format{Format: f, isa: isa, mr: mr, nr: nr}
	switch f {
	case FormatF32:
		r.steps, r.bytes, r.hasTail = 1, 4*nr, true
		r.pack = func(panel []byte, _, columns []float32, n, k int) {
			b := operandB{data: columns, ld: k, trans: Trans}
			b.packPanels(isa, asFloats(panel), 0, 0, k, n, nr)
		}
		r.column = func(dst []float32, panel []byte, j int) {
			for p, x := 0, asFloats(panel); p < len(dst); p++ {
				dst[p] = x[p*nr+j]
			}
		}
	case FormatBF16:
		halfFormat(r, half.ToBFloat16s, half.BFloat16, simd.BFloat16Vec)
	case FormatF16:
		halfFormat(r, half.ToFloat16s, half.Float16, simd.Float16Vec)
	case FormatInt8:
		int8Format(r)
	case FormatQ8_0, FormatQ4_0, FormatQ4_K, FormatQ6_K:
		blocksFormat(r)
	}
	return r
}

// source is what is done about the panels of a matrix of this format.
func (f *format) source() sourceKind {
	if f.widen != nil {
		return widened
	}
	return packedBefore
}

// panelBytes is the size of a panel of k steps.
func (f *format) panelBytes(k int) int { return (k + f.steps - 1) / f.steps * f.bytes }

// newPackedB has room for a k x n matrix; its elements are zero.
func newPackedB(fn string, f *format, k, n int) *PackedB {
	p := &PackedB{format: f, k: k, n: n, stride: f.panelBytes(k)}
	if k == 0 || n == 0 {
		return p
	}
	if f.hasTail {
		p.tail = dotColumns(f.isa, n, k, 0)
	}
	mulLen(fn, mulLen(fn, (k+f.steps-1)/f.steps, f.bytes)+4, p.panels()*f.nr+p.tail) // may be too large
	size := p.panels()*p.stride + 4*p.tail*k
	if f.int8.columnScales() {
		size += 4 * p.panels() * f.nr
	}
	words := make([]uint64, (size+7)/8) // on a page, if there are many
	p.data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)
	return p
}

// panels is how many panels there are.
func (b *PackedB) panels() int { return (b.n - b.tail + b.format.nr - 1) / b.format.nr }

// panel is the memory from the panel of column j and the block of step p on.
func (b *PackedB) panel(j, p int) []byte {
	f := b.format
	return b.data[j/f.nr*b.stride+p/f.steps*f.bytes:]
}

// floats is panel, where the elements are float32.
func (b *PackedB) floats(j, p int) []float32 { return asFloats(b.panel(j, p)) }

// widen makes k steps from step p of the panel of column j float32.
func (b *PackedB) widen(dst []float32, j, p, k int) {
	b.format.widen(dst, b.panel(j, p)[:b.format.panelBytes(k)])
}

// tailColumns is the columns that are dot products, K elements each.
func (b *PackedB) tailColumns() []float32 {
	return asFloats(b.data[b.panels()*b.stride:])
}

// scales is those of the columns of all panels, where they have any.
func (b *PackedB) scales() []float32 {
	if !b.format.int8.columnScales() {
		return nil
	}
	return asFloats(b.data[b.panels()*b.stride:])
}

// asInt8 is the same memory.
func asInt8(b []byte) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(b))), len(b))
}

// asFloats is the same memory, which must be aligned for float32.
func asFloats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
