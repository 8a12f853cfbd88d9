package kernels

import (
	"fmt"
	"unsafe"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file packs B for GemmPacked: from B itself, from the rows of B^T one by one, or in parts on
// several goroutines.

// PackB packs op(B), k x n, for GemmPacked on the active tier. B is stored k x n with rows ldb
// apart, or n x k with transB = Trans. The result keeps no reference to B. As in all functions that
// pack, n comes before k. [Format.PackB] packs B in other formats.
func PackB(transB Transpose, n, k int, b []float32, ldb int) *PackedB {
	return FormatF32.packB("PackB", transB, n, k, b, ldb)
}

// PackB is the function [PackB] in the format f. The result is that of [PackBRows] with the columns
// of op(B) as rows of B^T; in addition to it, PackB needs memory for one panel of columns, and with
// FormatInt8 for a sample of 256 to 511 of them.
func (f Format) PackB(transB Transpose, n, k int, b []float32, ldb int) *PackedB {
	return f.packB("Format.PackB", transB, n, k, b, ldb)
}

func (f Format) packB(fn string, transB Transpose, n, k int, b []float32, ldb int) *PackedB {
	checkPacker(fn, f, n, k)
	if transB {
		mem.CheckMatrix(fn, "b", len(b), n, k, ldb)
	} else {
		mem.CheckMatrix(fn, "b", len(b), k, n, ldb)
	}
	p := newPacker(fn, f, n, k)
	if k != 0 && n != 0 {
		p.b.matrix.Pack(&pack.B{Data: b, LD: ldb, Trans: bool(transB)})
	}
	return &p.b
}

// PackBRows packs the n x k matrix B^T, the layout of torch.nn.Linear weights, from its rows: row
// writes the k elements of row j to dst. PackBRows calls row once for every row, in order: a caller
// can read a matrix from a file, or convert it to float32, row by row. In addition to the result,
// PackBRows needs memory for one panel of rows, or for all rows with FormatInt8.
func PackBRows(f Format, n, k int, row func(j int, dst []float32)) *PackedB {
	const fn = "PackBRows"
	checkPacker(fn, f, n, k)
	if row == nil {
		panic("kernels.PackBRows: row is nil")
	}
	p := newPacker(fn, f, n, k)
	p.b.matrix.PackRows(row)
	return &p.b
}

// PackBBlocks is [PackBRows] for rows that are already in the format, as in a GGUF file: row writes
// the blocks of row j of B^T, little-endian, to dst. It rounds nothing. k must be a multiple of the
// number of elements of a block; see [Format.Block].
func PackBBlocks(f Format, n, k int, row func(j int, dst []byte)) *PackedB {
	const fn = "PackBBlocks"
	mem.CheckSize(fn, "n", n)
	mem.CheckSize(fn, "k", k)
	checkBlocks(fn, f, k)
	if row == nil {
		panic("kernels.PackBBlocks: row is nil")
	}
	p := newPacker(fn, f, n, k)
	p.b.matrix.PackBlocks(row)
	return &p.b
}

// A Packer packs the n x k matrix B^T in parts, as [PackBRows] and [PackBBlocks] do. Several
// goroutines may pack different parts at the same time. Make one with NewPacker.
type Packer struct{ b PackedB }

// NewPacker returns a Packer of an n x k matrix B^T in the format f, for the active tier.
func NewPacker(f Format, n, k int) *Packer {
	const fn = "NewPacker"
	checkPacker(fn, f, n, k)
	return newPacker(fn, f, n, k)
}

// PackedBytes returns the value of [PackedB.Bytes] for an n x k matrix B^T in the format f on the
// active tier. It packs nothing, and takes no memory.
func PackedBytes(f Format, n, k int) int {
	const fn = "PackedBytes"
	checkPacker(fn, f, n, k)
	return weights.Bytes(fn, weights.Of(weights.Format(f), simd.Active()), k, n)
}

// PackedLayout names the order and the representation of packed elements in the format f on the
// active tier with the features in use. Where names are equal, and [Numerics], matrices of the same
// sizes and elements have the same packed bytes.
func PackedLayout(f Format) string {
	if int(f) >= len(weights.Names) {
		mem.PanicSize("PackedLayout", "f", int(f), "want a Format")
	}
	return weights.Of(weights.Format(f), simd.Active()).Layout()
}

// PackedIn returns the n x k matrix B^T in the format f whose packed elements are memory, as
// [PackedB.Memory] returned it where [PackedLayout] was the same. It keeps memory, which nobody may
// change, and which may be read-only. memory must begin at a multiple of 8 bytes, and have
// [PackedBytes].
func PackedIn(f Format, n, k int, memory []byte) *PackedB {
	const fn = "PackedIn"
	checkPacker(fn, f, n, k)
	r := weights.Of(weights.Format(f), simd.Active())
	mem.CheckLen(fn, "memory", len(memory), weights.Bytes(fn, r, k, n), "PackedBytes(f, n, k)")
	if at := uintptr(unsafe.Pointer(unsafe.SliceData(memory))); len(memory) > 0 && at%8 != 0 {
		mem.PanicSize(fn, "address of memory modulo 8", int(at%8), "want 0")
	}
	return &PackedB{weights.Over(fn, r, k, n, memory)}
}

func newPacker(fn string, f Format, n, k int) *Packer {
	return &Packer{PackedB{weights.New(fn, weights.Of(weights.Format(f), simd.Active()), k, n)}}
}

func checkPacker(fn string, f Format, n, k int) {
	mem.CheckSize(fn, "n", n)
	mem.CheckSize(fn, "k", k)
	if int(f) >= len(weights.Names) {
		mem.PanicSize(fn, "f", int(f), "want a Format")
	}
}

// checkBlocks panics unless rows of k elements are whole blocks of the format.
func checkBlocks(fn string, f Format, k int) {
	elements, _ := f.Block()
	if elements == 0 {
		mem.PanicSize(fn, "f", int(f), "want a Format that files have")
	}
	if k%elements != 0 {
		mem.PanicSize(fn, "k", k, fmt.Sprintf("want a multiple of %d", elements))
	}
}

// Rows returns the granularity of parts: the first row of a part is a multiple of Rows, and so is
// the number of its rows unless it is the last part.
func (p *Packer) Rows() int { return p.b.matrix.Record.NR }

// Balance tells a Packer of FormatInt8 how large the elements of B are in each of the k channels. x
// has some rows of B^T, k elements each, for example 256 rows at equal distances. Balance must be
// called before any part is packed, and not by several goroutines at a time. It makes products more
// accurate where channels differ: before the rounding, elements of A are multiplied by the root of
// the channel's magnitude in B, and elements of B are divided by it. [PackBRows] takes rows 0, s,
// 2s and so on, with s n/256 or 1. With other formats Balance changes nothing.
func (p *Packer) Balance(x []float32) {
	if k := p.b.matrix.K; len(x)%max(k, 1) != 0 || k == 0 && len(x) > 0 {
		mem.PanicSize("Packer.Balance", "len(x)", len(x), fmt.Sprintf("want a multiple of %d (k)", k))
	}
	p.b.matrix.Balance(x)
}

// Pack packs rows of B^T, beginning with row j. x has k elements of each.
func (p *Packer) Pack(j int, x []float32) {
	p.checkPart("Packer.Pack", "x", j, len(x), p.b.matrix.K)
	p.b.matrix.PackPart(j, x)
}

// PackBlocks packs rows of B^T that are already in the format, beginning with row j. x has their
// blocks, little-endian. It rounds nothing.
func (p *Packer) PackBlocks(j int, x []byte) {
	const fn = "Packer.PackBlocks"
	f, k := Format(p.b.matrix.Record.Format), p.b.matrix.K
	checkBlocks(fn, f, k)
	elements, bytes := f.Block()
	p.checkPart(fn, "x", j, len(x), k/elements*bytes)
	p.b.matrix.PackFilePart(j, x)
}

// checkPart panics unless the rows that begin with row j are a part, or k is 0.
func (p *Packer) checkPart(fn, arg string, j, length, row int) {
	n, unit := p.b.matrix.N, p.Rows()
	if j < 0 || j > n || j%unit != 0 {
		mem.PanicSize(fn, "j", j, fmt.Sprintf("want a multiple of %d up to %d (n)", unit, n))
	}
	if row == 0 {
		mem.CheckLen(fn, arg, length, 0, "k")
		return
	}
	if rows := length / row; length%row != 0 || rows > n-j || rows%unit != 0 && rows != n-j {
		mem.PanicSize(fn, "len("+arg+")", length, fmt.Sprintf("want rows of %d, a multiple of %d or the last of %d from row %d on", row, unit, n, j))
	}
}

// Packed returns the matrix. All parts must have been packed.
func (p *Packer) Packed() *PackedB { return &p.b }
