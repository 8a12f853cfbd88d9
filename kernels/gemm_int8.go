package kernels

import "github.com/avoformer/avoformer/kernels/internal/simd"

// Products with weights of int8. The rows of A become integers as they are copied,
// each block of simd.Int8Block elements with a scale of its own; the columns of B have
// theirs from packing. The sums of a block are exact, blocks are added up in order, and
// each step is rounded by itself, so an element of C has the same bits on every tier, for
// any number of threads: those of ref.GemmInt8.

// int8Kind is how bytes are multiplied.
type int8Kind uint8

const (
	noInt8     int8Kind = iota
	int8Quads           // unsigned weights, larger by 128, four of a column side by side
	int8Pairs           // two of a column side by side, and A in 16 bits
	int8Dots            // four of a column side by side
	int8Octets          // eight of a column side by side
	blocks8             // in blocks, as are those that follow; see gemm_blocks.go
	blocks4
	blocks4K
	blocks6K
)

// columnScales says that columns have scales, which lie behind the panels.
func (k int8Kind) columnScales() bool { return k > noInt8 && k < blocks8 }

// block is how many elements of a row of A have a scale in common.
func (k int8Kind) block() int {
	switch {
	case k.columnScales():
		return simd.Int8Block
	case k == blocks6K:
		return simd.Blocks6KLayout.Group
	}
	return simd.WeightBlock
}

// int8Format completes the record.
func int8Format(f *format) {
	f.int8, f.mr = int8KindOn(f.isa), int8TileRows
	f.steps, f.bytes = int8Step, int8Step*f.nr
	f.pack, f.widen, f.column = f.packInt8, f.widenInt8, f.columnInt8
}

// int8KindOn is the best one on a tier.
func int8KindOn(isa ISA) int8Kind {
	switch {
	case isa != Generic && simd.KernelInt8Quads.On(isa).ISA == isa: // that of a lesser tier has other columns
		return int8Quads
	case simd.KernelInt8Pairs.On(isa).ISA != Generic:
		return int8Pairs
	case simd.KernelInt8Octets.On(isa).ISA != Generic:
		return int8Octets
	}
	return int8Dots
}

// int8TileRows is the height of tiles of the micro-kernels. Those of int8 weights on AVX-512 take two
// of them at once.
const int8TileRows = 6

// int8Step is the number of elements of k that all of these formats are filled up to a
// multiple of, with zeros.
const int8Step = 32

// side is how many elements of a column lie side by side.
func (k int8Kind) side() int {
	switch k {
	case int8Pairs:
		return 2
	case int8Octets:
		return 8
	}
	return 4
}

// packInt8 packs n columns of k contiguous elements each, and finds their scales.
func (f *format) packInt8(panel []byte, scales, columns []float32, n, k int) {
	side, flip := f.int8.side(), byte(0)
	if f.int8 == int8Quads {
		flip = 128
	}
	for i := range panel {
		panel[i] = flip
	}
	for j := range n {
		column := columns[j*k:][:k]
		scale, inverse := simd.QuantizeBlock(column)
		scales[j] = scale
		for p, v := range column {
			panel[p/side*side*f.nr+side*j+p%side] = byte(simd.QuantizeOne(v, inverse)) ^ flip
		}
	}
}

// widenInt8 is the integers as float32; their columns' scales are not in it.
func (f *format) widenInt8(dst []float32, blocks []byte) {
	for p := range len(blocks) / f.nr {
		for j := range f.nr {
			dst[p*f.nr+j] = f.numberInt8(blocks, p, j)
		}
	}
}

func (f *format) columnInt8(dst []float32, panel []byte, j int) {
	for p := range dst {
		dst[p] = f.numberInt8(panel, p, j)
	}
}

// numberInt8 is element p of column j.
func (f *format) numberInt8(blocks []byte, p, j int) float32 {
	side, flip := f.int8.side(), byte(0)
	if f.int8 == int8Quads {
		flip = 128
	}
	return float32(int8(blocks[p/side*side*f.nr+side*j+p%side] ^ flip))
}

// int8Rows is some rows of A as integers: scale and start, block by block, have an
// element for each row.
type int8Rows struct {
	rows, ld int
	bytes    []int8
	words    []int16
	scale    []float32
	start    []int32
	offset   []float32 // what the minima of columns multiply: the sum of the integers, scaled, below zero
	winograd winogradPanel
}

// winogradPanel is a piece of a panel as simd.Int8Winograd takes it.
type winogradPanel struct {
	words     []int16
	ofColumns []int32
}

// quantize makes integers of m rows of k elements, for the kind.
func (r *int8Rows) quantize(isa ISA, kind int8Kind, a []float32, lda, m, k int) {
	filled := (k + int8Step - 1) / int8Step * int8Step
	lines := ((filled+63)/64 | 1) // of the cache: an odd number, so that rows spread over all sets
	block := kind.block()
	blocks := (filled + block - 1) / block
	r.rows, r.ld = m, 64*lines
	r.scale, r.start = grow(r.scale, m*blocks), grow(r.start, m*blocks)
	if kind == int8Pairs {
		lines = (2*filled+63)/64 | 1
		r.ld = 32 * lines
		r.words = grow(r.words, m*r.ld)
	} else {
		r.bytes = grow(r.bytes, m*r.ld)
	}
	most := simd.KernelQuantizeInt8.On(isa).Elements
	rows, cols := max(1, most/k), max(1, most/block)*block // of a call
	for i := 0; i < m; i += rows {
		n := min(rows, m-i)
		for p := 0; p < k; p += cols {
			w, fill, to, at := min(cols, k-p), min(cols, filled-p), i*r.ld+p, p/block*m+i
			switch kind {
			case blocks6K:
				simd.QuantizeInt8By16(isa, r.bytes[to:], a[i*lda+p:], n, w, fill, r.ld, lda, r.scale[at:], r.start[at:], m)
			case blocks8, blocks4, blocks4K:
				simd.QuantizeInt8By32(isa, r.bytes[to:], a[i*lda+p:], n, w, fill, r.ld, lda, r.scale[at:], r.start[at:], m)
			case int8Pairs:
				simd.QuantizeInt16(isa, r.words[to:], a[i*lda+p:], n, w, fill, r.ld, lda, r.scale[at:], m)
			default:
				simd.QuantizeInt8(isa, r.bytes[to:], a[i*lda+p:], n, w, fill, r.ld, lda, r.scale[at:], r.start[at:], m)
			}
		}
	}
	if written := (k + block - 1) / block * m; written < len(r.scale) { // a block of what is filled up
		clear(r.scale[written:])
		clear(r.start[written:])
	}
	if kind == blocks4K {
		r.offset = grow(r.offset, m*blocks)
		for i, start := range r.start {
			r.offset[i] = float32(start) * (1.0 / 128) * r.scale[i]
		}
	}
}

// winogradFor reports whether m rows of a panel are multiplied by Winograd's inner product: it
// takes a pass over the panel, which some rows must pay for.
func winogradFor(isa ISA, kind int8Kind, m int) bool {
	return kind == int8Pairs && m >= tuned.gemm.winogradRows && simd.KernelInt8Winograd.On(isa).ISA == isa
}

// ofRows finds what is taken off for rows of A.
func (r *int8Rows) ofRows(isa ISA, m, k int) {
	k = (k + int8Step - 1) / int8Step * int8Step
	most := simd.KernelWinogradRows.On(isa).Elements
	rows, cols := max(1, most/k), max(1, most/simd.Int8Block)*simd.Int8Block // of a call
	for i := 0; i < m; i += rows {
		for p := 0; p < k; p += cols {
			simd.WinogradRows(isa, r.start[p/simd.Int8Block*m+i:], m, r.words[i*r.ld+p:], min(rows, m-i), min(cols, k-p), r.ld)
		}
	}
}

// open makes a piece of a panel words.
func (w *winogradPanel) open(x *int8Product) {
	k := (x.k + int8Step - 1) / int8Step * int8Step
	w.words, w.ofColumns = grow(w.words, k*x.nr), grow(w.ofColumns, (k+simd.Int8Block-1)/simd.Int8Block*x.nr)
	simd.WinogradColumns(x.isa, w.words, w.ofColumns, asInt8(x.b), k, x.nr)
}

// int8Product is some rows of A, from row i of those that are integers, times a panel of B, for
// k steps from step p, a multiple of the block. The sums begin with what is in C if p is not 0.
// After the last steps they are multiplied with the scales of the columns, and have the bias added
// if there is one.
type int8Product struct {
	isa          ISA
	kind         int8Kind
	winograd     bool // see winogradFor
	i, m, p, k   int
	b            []byte
	nr           int
	scales, bias []float32 // empty, but for the last steps
	c            []float32
	ldc          int
}

func (r *int8Rows) multiply(x int8Product) {
	k := (x.k + int8Step - 1) / int8Step * int8Step
	first, at, add := x.i*r.ld+x.p, x.p/x.kind.block()*r.rows+x.i, min(x.p, 1)
	scale, start := r.scale[at:], r.start[at:]
	switch x.kind {
	case blocks8:
		simd.Blocks8(x.isa, x.m, k, x.nr, r.bytes[first:], r.ld, scale, start, r.rows, x.b, tuned.gemm.ahead, add, x.c, x.ldc)
	case blocks4:
		simd.Blocks4(x.isa, x.m, k, x.nr, r.bytes[first:], r.ld, scale, start, r.rows, x.b, tuned.gemm.ahead, add, x.c, x.ldc)
	case blocks4K:
		simd.Blocks4K(x.isa, x.m, k, x.nr, r.bytes[first:], r.ld, scale, r.offset[at:], r.rows, x.b, tuned.gemm.ahead, add, x.c, x.ldc)
	case blocks6K:
		simd.Blocks6K(x.isa, x.m, k, x.nr, r.bytes[first:], r.ld, scale, start, r.rows, x.b, tuned.gemm.ahead, add, x.c, x.ldc)
	case int8Quads:
		simd.Int8Quads(x.isa, x.m, k, simd.Int8Block, x.nr, r.bytes[first:], r.ld, scale, start, r.rows, x.b, x.scales, x.bias, tuned.gemm.ahead, add, x.c, x.ldc)
	case int8Pairs:
		if x.winograd {
			w := &r.winograd
			w.open(&x)
			simd.Int8Winograd(x.isa, x.m, k, x.nr, r.words[first:], r.ld, scale, start, r.rows, w.words, w.ofColumns, x.scales, x.bias, add, x.c, x.ldc)
			return
		}
		simd.Int8Pairs(x.isa, x.m, k, simd.Int8Block, x.nr, r.words[first:], r.ld, scale, r.rows, asInt8(x.b), x.scales, x.bias, add, x.c, x.ldc)
	case int8Octets:
		simd.Int8Octets(x.isa, x.m, k, simd.Int8Block, x.nr, r.bytes[first:], r.ld, scale, r.rows, asInt8(x.b), x.scales, x.bias, add, x.c, x.ldc)
	default:
		simd.Int8Dots(x.isa, x.m, k, simd.Int8Block, x.nr, r.bytes[first:], r.ld, scale, r.rows, asInt8(x.b), x.scales, x.bias, add, x.c, x.ldc)
	}
}

// int8Panels computes a block with a packed B of int8.
func (b *gemmBlock) int8Panels() {
	g, packed, nr := b.g, b.b.packed, b.g.nr
	scales := packed.scales()
	rows := evenly(b.m, tuned.gemm.int8Rows, g.mr)
	unit, panel := max(simd.Int8Block, packed.format.steps), tuned.gemm.int8Panel
	if winogradFor(g.isa, packed.format.int8, b.m) {
		panel = tuned.gemm.winogradPanel
	}
	kc := max(panel/nr, unit) / unit * unit
	last := (g.k - 1) / kc * kc
	s := gemmScratchPool.Get().(*gemmScratch)
	s.sums = grow(s.sums, rows*nr)
	x := int8Product{isa: g.isa, kind: packed.format.int8, nr: nr}
	for i := 0; i < b.m; i += rows {
		x.i, x.m = 0, min(rows, b.m-i)
		s.int8.quantize(g.isa, x.kind, b.a.data[i*b.a.ld:], b.a.ld, x.m, g.k)
		if x.winograd = winogradFor(g.isa, x.kind, x.m); x.winograd {
			s.int8.ofRows(g.isa, x.m, g.k)
		}
		for j := 0; j < b.n; j += nr {
			n := min(nr, b.n-j)
			x.c, x.ldc = s.sums, nr
			inC := n == nr && b.int8InC()
			if inC {
				x.c, x.ldc = b.c[i*g.ldc+j:], g.ldc
			}
			x.scales, x.bias = nil, nil
			for x.p, x.k = 0, kc; x.p < last; x.p += kc {
				x.b = packed.panel(b.b.column+j, x.p)
				s.int8.multiply(x)
			}
			x.k, x.b = g.k-last, packed.panel(b.b.column+j, last)
			if scales != nil {
				x.scales = scales[b.b.column+j:][:nr]
			}
			if inC && b.ep.Bias != nil {
				x.bias = b.ep.Bias[j:][:nr]
			}
			s.int8.multiply(x)
			if !inC {
				b.finishInt8(s.sums, i, j, x.m, n)
			}
		}
	}
	gemmScratchPool.Put(s)
}

// int8InC reports whether the micro-kernel can write C, with a bias but no more, and keeps
// its sums elsewhere until then: rows of C may push each other out of the cache.
func (b *gemmBlock) int8InC() bool {
	g := b.g
	if g.alpha != 1 || g.beta != 0 || b.ep.Activation != Identity || b.ep.Residual != nil {
		return false
	}
	switch b.b.packed.format.int8 {
	case int8Quads, int8Pairs:
		return true
	case blocks8, blocks4, blocks4K, blocks6K:
		return b.ep.Bias == nil
	}
	return false
}

// finishInt8 writes m x n sums, NR apart, to C at row i and column j of the block, with
// all that is asked for besides the product. The sums may be lost.
func (b *gemmBlock) finishInt8(sums []float32, i, j, m, n int) {
	g := b.g
	c := b.c[i*g.ldc+j:]
	if g.alpha != 1 {
		simd.ScaleVec(g.isa, sums[:m*g.nr], sums[:m*g.nr], g.alpha)
	}
	if g.beta != 0 {
		for i := range m {
			for j, y := range c[i*g.ldc:][:n] {
				sums[i*g.nr+j] += float32(g.beta * y)
			}
		}
	}
	if b.ep.any() {
		b.finish(c, sums, i, j, m, n)
		return
	}
	simd.CopyRows(g.isa, c, sums, m, n, g.ldc, g.nr)
}
