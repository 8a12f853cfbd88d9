package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// This file has rows of A as integers, and their products with panels of integers.

// RowsOfA holds some rows of A as integers. scale and start have an element for each row, block by
// block, or stretch by stretch with columns of int8.
type RowsOfA struct {
	rows, ld int
	bytes    []int8
	words    []int16
	rotated  []float32
	scale    []float32
	start    []int32
	zeros    []int32   // the start of sums that continue earlier ones
	offset   []float32 // multiplied by the minima of columns: minus the scaled sum of the integers
	winograd winogradPanel
}

// winogradPanel is a piece of a panel in the layout of simd.Int8Winograd.
type winogradPanel struct {
	words     []int16
	ofColumns []int32
}

// Quantize quantizes m rows of A, for products with a matrix.
func (r *RowsOfA) Quantize(b *Matrix, a []float32, lda, m int) {
	r.Hold(b, m)
	r.Fill(b, 0, a, lda, m)
}

// Hold allocates memory for m rows of A, for products with a matrix.
func (r *RowsOfA) Hold(b *Matrix, m int) {
	f, k := b.Record, b.K
	kind := f.Kind
	filled := (k + int8Step - 1) / int8Step * int8Step
	lines := ((filled+63)/64 | 1) // cache lines: an odd number, so that rows use all sets of the cache
	block := f.group()
	blocks := (filled + block - 1) / block
	r.rows, r.ld = m, 64*lines
	r.scale, r.start = mem.Grow(r.scale, m*blocks), mem.Grow(r.start, m*blocks)
	if kind == Int8Pairs {
		lines = (2*filled+63)/64 | 1
		r.ld = 32 * lines
		r.words = mem.Grow(r.words, m*r.ld)
	} else {
		r.bytes = mem.Grow(r.bytes, m*r.ld)
	}
	if written := (k + block - 1) / block * m; written < len(r.scale) { // the padding may fill a block
		clear(r.scale[written:])
		clear(r.start[written:])
	}
	if f.blocks.Least {
		r.offset = mem.Grow(r.offset, m*blocks)
	}
}

// Fill quantizes m rows of A, which become row first and the rows after it.
func (r *RowsOfA) Fill(b *Matrix, first int, a []float32, lda, m int) {
	f := b.Record
	if f.Kind != Blocks {
		r.quantizeRotated(f, first, a, lda, m, b.K, b.By())
		return
	}
	r.quantizeBlocks(f, first, a, lda, m, b.K)
	if f.blocks.Least {
		for at := first; at < len(r.start); at += r.rows {
			for i, start := range r.start[at : at+m] {
				r.offset[at+i] = float32(start) * (1.0 / 128) * r.scale[at+i]
			}
		}
	}
}

// quantizeRotated does the work of Fill for columns of int8.
func (r *RowsOfA) quantizeRotated(f *Record, first int, a []float32, lda, m, k int, by []float32) {
	for p := 0; p < k; p += simd.Int8Stretch {
		w := min(simd.Int8Stretch, k-p)
		filled := rotatedLen(w)
		rows := max(1, rotatedAtOnce/filled)
		r.rotated = mem.Grow(r.rotated, rows*filled)
		for i := 0; i < m; i += rows {
			n := min(rows, m-i)
			for q := 0; q < w; q += rotatedAtOnce {
				rotate(f.ISA, r.rotated[q:], filled, a[i*lda+p+q:], lda, n, min(rotatedAtOnce, w-q), by[p+q:])
			}
			to, at := (first+i)*r.ld+p, p/simd.Int8Stretch*r.rows+first+i
			if f.Kind == Int8Pairs {
				simd.QuantizeInt16(f.ISA, r.words[to:], r.rotated, n, filled, filled, r.ld, filled, r.scale[at:])
			} else {
				simd.QuantizeInt8(f.ISA, r.bytes[to:], r.rotated, n, filled, filled, r.ld, filled, r.scale[at:], r.start[at:])
			}
		}
	}
}

// quantizeBlocks does the work of Fill for weights in blocks.
func (r *RowsOfA) quantizeBlocks(f *Record, first int, a []float32, lda, m, k int) {
	block := f.group()
	filled := (k + int8Step - 1) / int8Step * int8Step
	most := simd.KernelQuantizeInt8By32.On(f.ISA).Elements
	rows, cols := max(1, most/k), max(1, most/block)*block // per call
	for i := 0; i < m; i += rows {
		n := min(rows, m-i)
		for p := 0; p < k; p += cols {
			w, fill, to, at := min(cols, k-p), min(cols, filled-p), (first+i)*r.ld+p, p/block*r.rows+first+i
			if block == 16 {
				simd.QuantizeInt8By16(f.ISA, r.bytes[to:], a[i*lda+p:], n, w, fill, r.ld, lda, r.scale[at:], r.start[at:], r.rows)
			} else {
				simd.QuantizeInt8By32(f.ISA, r.bytes[to:], a[i*lda+p:], n, w, fill, r.ld, lda, r.scale[at:], r.start[at:], r.rows)
			}
		}
	}
}

// OfRows computes the terms that simd.Int8Winograd subtracts for m rows of A, beginning with row
// first.
func (r *RowsOfA) OfRows(isa simd.ISA, first, m, k int) {
	k = (k + int8Step - 1) / int8Step * int8Step
	for p := 0; p < k; p += simd.Int8Stretch {
		w := min(simd.Int8Stretch, k-p)
		rows := max(1, simd.KernelWinogradRows.On(isa).Elements/w) // per call
		for i := 0; i < m; i += rows {
			simd.WinogradRows(isa, r.start[p/simd.Int8Stretch*r.rows+first+i:], r.words[(first+i)*r.ld+p:], min(rows, m-i), w, r.ld)
		}
	}
}

// open converts a piece of a panel to words.
func (w *winogradPanel) open(x *Product) {
	k := (x.K + int8Step - 1) / int8Step * int8Step
	w.words, w.ofColumns = mem.Grow(w.words, k*x.Format.NR), mem.Grow(w.ofColumns, x.Format.NR)
	simd.WinogradColumns(x.Format.ISA, w.words, w.ofColumns, mem.Int8s(x.B), k, x.Format.NR)
}

// Product is a product of some rows of integers, beginning with row i, and a panel of B, for k
// steps from step p, a multiple of the block; with columns of int8 they are in one stretch. The
// sums begin with C if p is not 0, and with columns of int8 if p does not begin a stretch. C holds
// the bits of integer sums until the columns have scales. Then it holds floats: the integers times
// the scales of row and column, plus the bias if there is one.
type Product struct {
	Format       *Record
	Kernel       simd.Kernel // multiplies pieces of panels; see Method
	I, M, P, K   int
	B            []byte
	Scales, Bias []float32 // empty, except in the last steps
	C            []float32
	LDC          int
	Ahead        int // distance in bytes at which B is fetched ahead
}

// MultiplyAndFetch computes a product, and fetches the next data of B. With weights in blocks, only
// the first tile of rows fetches, for all of them. It fetches the next piece if that fits in the
// first-level cache.
func (r *RowsOfA) MultiplyAndFetch(x *Product) {
	f, size := x.Format, &tune.Used.Gemm
	tile, piece := f.MR, x.K/f.Steps*f.bytes
	x.Ahead = size.Ahead
	if f.Kind == Blocks {
		x.Ahead = size.AheadBlocks
		if f.blocks.Bits == 8 && x.M <= tile {
			x.Ahead = max(x.Ahead, size.AheadBytes)
		}
		if size.NextRows > 0 && x.M >= size.NextRows && tune.HoldsTwo(piece) {
			x.Ahead = piece
		}
	}
	if f.Kind != Blocks || x.Ahead == 0 || x.M <= tile {
		r.Multiply(x)
		return
	}
	y := *x // storing to the caller's C would move it to the heap
	y.M = tile
	r.Multiply(&y)
	y.I, y.M, y.C, y.Ahead = x.I+tile, x.M-tile, x.C[tile*x.LDC:], 0
	r.Multiply(&y)
}

// Multiply computes a product.
func (r *RowsOfA) Multiply(x *Product) {
	k := (x.K + int8Step - 1) / int8Step * int8Step
	f, first := x.Format, x.I*r.ld+x.P
	if f.Kind == Blocks {
		r.multiplyBlocks(x, first, x.P/f.group()*r.rows+x.I, k, min(x.P, 1))
		return
	}
	at, add := x.P/simd.Int8Stretch*r.rows+x.I, min(x.P%simd.Int8Stretch, 1)
	scale, start := r.scale[at:], r.start[at:]
	if add != 0 {
		if x.M > len(r.zeros) {
			r.zeros = make([]int32, x.M)
		}
		start = r.zeros
	}
	switch x.Kernel {
	case simd.KernelInt8Quads:
		simd.Int8Quads(f.ISA, x.M, k, f.NR, r.bytes[first:], r.ld, scale, start, x.B, x.Scales, x.Bias, x.Ahead, add, x.C, x.LDC)
	case simd.KernelInt8Winograd:
		w := &r.winograd
		w.open(x)
		simd.Int8Winograd(f.ISA, x.M, k, f.NR, r.words[first:], r.ld, scale, start, w.words, w.ofColumns, x.Scales, x.Bias, add, x.C, x.LDC)
	case simd.KernelInt8Pairs:
		simd.Int8Pairs(f.ISA, x.M, k, f.NR, r.words[first:], r.ld, scale, mem.Int8s(x.B), x.Scales, x.Bias, add, x.C, x.LDC)
	case simd.KernelInt8Octets:
		simd.Int8Octets(f.ISA, x.M, k, f.NR, r.bytes[first:], r.ld, scale, mem.Int8s(x.B), x.Scales, x.Bias, add, x.C, x.LDC)
	case simd.KernelInt8Dots:
		simd.Int8Dots(f.ISA, x.M, k, f.NR, r.bytes[first:], r.ld, scale, mem.Int8s(x.B), x.Scales, x.Bias, add, x.C, x.LDC)
	}
}

// Scale returns the factor of row i in the stretch of step p.
func (r *RowsOfA) Scale(i, p int) float32 { return r.scale[p/simd.Int8Stretch*r.rows+i] }

// multiplyBlocks does the work of Multiply for weights in blocks, beginning with element first of
// the rows and element at of their scales.
func (r *RowsOfA) multiplyBlocks(x *Product, first, at, k, add int) {
	f, ahead := x.Format, x.Ahead
	a, lda, scale, start, ldscale := r.bytes[first:], r.ld, r.scale[at:], r.start[at:], r.rows
	switch f.blocks.kernel {
	case simd.KernelBlocks8:
		simd.Blocks8(f.ISA, x.M, k, f.NR, a, lda, scale, start, ldscale, x.B, ahead, add, x.C, x.LDC)
	case simd.KernelBlocks4:
		simd.Blocks4(f.ISA, x.M, k, f.NR, a, lda, scale, start, ldscale, x.B, ahead, add, x.C, x.LDC)
	case simd.KernelBlocks4Min:
		simd.Blocks4Min(f.ISA, x.M, k, f.NR, a, lda, scale, r.offset[at:], ldscale, x.B, ahead, add, x.C, x.LDC)
	case simd.KernelBlocks4K:
		simd.Blocks4K(f.ISA, x.M, k, f.NR, a, lda, scale, r.offset[at:], ldscale, x.B, ahead, add, x.C, x.LDC)
	case simd.KernelBlocks5:
		simd.Blocks5(f.ISA, x.M, k, f.NR, a, lda, scale, start, ldscale, x.B, ahead, add, x.C, x.LDC)
	case simd.KernelBlocks5Min:
		simd.Blocks5Min(f.ISA, x.M, k, f.NR, a, lda, scale, r.offset[at:], ldscale, x.B, ahead, add, x.C, x.LDC)
	case simd.KernelBlocks5K:
		simd.Blocks5K(f.ISA, x.M, k, f.NR, a, lda, scale, r.offset[at:], ldscale, x.B, ahead, add, x.C, x.LDC)
	case simd.KernelBlocks6K:
		simd.Blocks6K(f.ISA, x.M, k, f.NR, a, lda, scale, start, ldscale, x.B, ahead, add, x.C, x.LDC)
	case simd.KernelBlocksCodes:
		simd.BlocksCodes(f.ISA, x.M, k, f.NR, a, lda, scale, start, ldscale, x.B, ahead, add, x.C, x.LDC)
	case simd.KernelBlocks4NL:
		simd.Blocks4NL(f.ISA, x.M, k, f.NR, a, lda, scale, start, ldscale, x.B, ahead, add, x.C, x.LDC)
	case simd.KernelBlocks4NLK:
		simd.Blocks4NLK(f.ISA, x.M, k, f.NR, a, lda, scale, start, ldscale, x.B, ahead, add, x.C, x.LDC)
	case simd.KernelBlocks3K:
		simd.Blocks3K(f.ISA, x.M, k, f.NR, a, lda, scale, start, ldscale, x.B, ahead, add, x.C, x.LDC)
	}
}
