// Package weights packs weights in all formats, and multiplies them. The record of a format has
// everything that a product needs to know about the format.
//
//   - record.go has the record's fields, and formats.go the records.
//   - matrix.go has a packed matrix.
//   - numbers.go, int8.go and blocks.go have the kinds of formats. The files whose names begin with
//     blocks_ and int8_ convert to and from them, with rotate.go and balance.go for int8.
//   - int8_rows.go has rows of A as integers, methods.go and multiply.go have the kernels that
//     multiply them by weights, and heads.go has rows of queries and keys, which are multiplied in the
//     same way.
//
// To add a format in blocks: a Format and its name in record.go; a row of blockLayouts in
// formats.go; the functions that make a block from numbers (blocks_quantize.go; blocks_fit.go and
// blocks_minima.go with the search of fit.go) and from a file's bytes (blocks_repack.go), and that
// make those bytes (blocks_encode.go). If no kernel knows the layout, add one to the catalog, and a
// call of it to RowsOfA.Multiply. The tests run over all formats, and compare them with the readers
// in kernels/ref.
//
// A format of another kind needs a case in Of, and no more: products widen its panels to float32.
// Matrix.Gemv may call a kernel for one row. A format whose products are of integers needs methods
// of its own, as int8 has.
package weights

import (
	"fmt"
	"math"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Format is the format of a packed matrix's elements.
type Format uint8

// These are the formats, in the order of package kernels, which documents them.
const (
	F32 Format = iota
	BF16
	F16
	Int8
	Q8_0
	Q4_0
	Q4_K
	Q6_K
	Q4_1
	Q5_0
	Q5_1
	Q5_K
	MXFP4
	BF16Fast
	IQ4_NL
	IQ4_XS
	Q3_K
)

// Names holds the formats' names.
var Names = [...]string{"f32", "bf16", "f16", "int8", "q8_0", "q4_0", "q4_k", "q6_k", "q4_1", "q5_0", "q5_1", "q5_k", "mxfp4", "bf16_fast", "iq4_nl", "iq4_xs", "q3_k"}

// String returns the format's name in lower case.
func (f Format) String() string {
	if int(f) < len(Names) {
		return Names[f]
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// Record is the record of a format on one tier.
//
// A packed matrix consists of panels of nr columns; the last panel is padded with zeros. A panel
// consists of blocks of some steps of k, one after the other. Only pack, Widen and the format's
// kernels know the meaning of a block's bytes. The ranges of steps that drivers ask for begin with
// the first step of a block.
type Record struct {
	Format
	ISA    simd.ISA
	MR, NR int // register tile of the micro-kernel: rows of A and columns of B
	Steps  int // steps of k per block
	bytes  int // bytes per block, including scales if it has any

	// pack writes a panel from n <= nr of its columns, each of them k contiguous elements of
	// columns, and the scales of its nr columns, if the format has scales.
	pack func(panel []byte, scales, columns []float32, n, k int)
	// packFile does the same as pack for columns in the blocks of files. It is nil if the format's
	// elements in files are single numbers.
	packFile func(panel, columns []byte, n, k int)
	// Widen converts blocks to float32: dst[p*nr+j] is step p of column j. It is nil if they are
	// already float32 in that order, and in formats for which rows of A are converted to integers
	// in blocks.
	Widen func(dst []float32, blocks []byte)
	// column converts column j of a panel to float32.
	column func(dst []float32, panel []byte, j int)
	// Kind is the layout of integers, in formats that are multiplied as integers; see int8.go.
	Kind Kind
	// kernel multiplies any number of rows, in formats that are multiplied as integers or as pairs
	// of bfloat16; tiles reports whether the machine also has tiles that multiply integers. See
	// Method.
	kernel simd.Kernel
	tiles  bool
	// PairsOf16 reports whether kernel multiplies rows of bfloat16, for which panels have pairs of
	// steps side by side; see bfloat16_fast.go.
	PairsOf16 bool
	// blocks is the layout of formats in blocks; see blocks.go.
	blocks blockLayout
}

// Kind is the layout of a panel's integers.
type Kind uint8

// These are the kinds.
const (
	NoInt8     Kind = iota
	Int8Quads       // weights plus 128 as unsigned bytes, four of a column side by side
	Int8Pairs       // two of a column side by side, and A in 16 bits
	int8Dots        // four of a column side by side
	int8Octets      // eight of a column side by side
	Blocks          // in blocks, multiplied by the kernel of their layout; see blocks.go
)

// columnScales reports whether columns have scales, which lie after the panels.
func (k Kind) columnScales() bool { return k > NoInt8 && k < Blocks }

// group returns the number of elements of a row of A that share a scale.
func (f *Record) group() int {
	if f.Kind == Blocks {
		return f.blocks.Group
	}
	return simd.Int8Stretch
}

// side returns the number of elements of a column that are side by side.
func (k Kind) side() int {
	switch k {
	case Int8Pairs:
		return 2
	case int8Octets:
		return 8
	}
	return 4
}

// int8TileRows is the height of tiles of the micro-kernels. With int8 weights on AVX-512, a
// micro-kernel multiplies two tiles together.
const int8TileRows = 6

// These are the sizes of the tiles of AMX.
const (
	tileRows  = 32 // rows of A that are multiplied together
	tileDepth = 64 // bytes of a row of A in a tile
)

// int8Step is the unit of k: all of these formats pad its elements with zeros to a multiple of
// int8Step.
const int8Step = 32

// blockLayout describes a block of a column. An element is d*scale*(q-zero) - dmin*least. Only
// formats with groups have scale and least, and only some have dmin. If q is a code, q-zero is the
// number of the code; d of E2M1 is a power of 2.
type blockLayout struct {
	simd.BlockLayout
	kernel simd.Kernel
	zero   int // the q that means 0
	file   int // bytes of a block in a file

	quantize func(c *quantizer, x []float32) // converts elements to a block; the column is zero before
	repack   func(out, b []byte, nr, j int)  // writes column j of a block of a panel from a block of a file
	encode   func(b []byte, c *blockColumn)  // writes a block of a file, whose bytes are 0
	// repackPair does the same as repack for columns j and j+1, or is nil.
	repackPair func(out, b, c []byte, nr, j int)
}

// quantizer holds the block of a column while it is made from its elements, and memory for the
// search.
type quantizer struct {
	blockColumn
	importance []float32 // weights of the elements, or nil
	groups     [16]fitGroup
	search     search
}

// setGroups divides the elements into groups; if whole is set, with sums of numbers and of squares.
// extreme is the largest magnitude; nan is NaN if there is a NaN or an infinity, and otherwise 0.
func (c *quantizer) setGroups(x []float32, size int, whole bool) (groups []fitGroup, extreme, nan float32) {
	c.search.isa = simd.Active()
	groups = c.groups[:len(x)/size]
	var top uint32
	for i := range groups {
		var importance []float32
		if c.importance != nil {
			importance = c.importance[i*size:][:size]
		}
		top = max(top, groups[i].set(x[i*size:][:size], importance, whole))
	}
	extreme = math.Float32frombits(top)
	return groups, extreme, extreme - extreme
}

// blockColumn is a block of one column.
type blockColumn struct {
	q            [256]byte
	d, dmin      uint16    // binary16; d is an exponent of codes of E2M1
	scale, least [16]uint8 // of the groups; scale is an int8 if there are no minima
}
