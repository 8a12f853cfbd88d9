package kernels

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/avoformer/avoformer/internal/half"
)

// Products with a B that was packed beforehand, and packing it.

// GemmPacked computes C = act(alpha*A*B + beta*C + bias) + residual with B
// packed beforehand by PackB: the form for weights, which are used many times.
//
// A is m x K and C is m x N, row-major with rows lda and ldc apart. C must not
// overlap A. When beta is 0, C is not read, unless it is also the residual; when
// alpha or K is 0, A and B are not.
// It runs on the tier that B was packed for.
func GemmPacked(m int, alpha float32, a []float32, lda int, b *PackedB, beta float32, c []float32, ldc int, ep Epilogue) {
	Threads(1).GemmPacked(m, alpha, a, lda, b, beta, c, ldc, ep)
}

// GemmPacked is the function GemmPacked on up to t threads.
func (t Threads) GemmPacked(m int, alpha float32, a []float32, lda int, b *PackedB, beta float32, c []float32, ldc int, ep Epilogue) {
	const fn = "GemmPacked"
	if b == nil {
		panic("kernels.GemmPacked: b is nil, want a matrix from PackB")
	}
	n, k := b.n, b.k
	if alpha == 0 {
		k = 0 // neither A nor B is read
	}
	checkSize(fn, "m", m)
	checkMatrix(fn, "a", len(a), m, b.k, lda)
	checkMatrix(fn, "c", len(c), m, n, ldc)
	if ep.Bias != nil {
		checkLen(fn, "ep.Bias", len(ep.Bias), n, "n")
	}
	if ep.Residual != nil {
		checkMatrix(fn, "ep.Residual", len(ep.Residual), m, n, ep.LdResidual)
	}
	if ep.Activation > ActSiLU {
		panicSize(fn, "ep.Activation", int(ep.Activation), "want Identity to ActSiLU")
	}
	if m == 0 || n == 0 {
		return
	}
	var g gemmCall
	g.isa, g.batch = b.format.isa, 1
	g.set(m, n, k, alpha, a, lda, beta, c, ldc)
	g.b.packed, g.ep = b, ep
	switch {
	case k > 0:
		g.run(t)
	case ep.any():
		g.mr, g.nr, g.source = b.format.mr, b.format.nr, b.format.source()
		g.planLoops()
		g.block(0, 0, 0, m, n)
	default:
		scaleMatrix(c, m, n, ldc, beta)
	}
}

// PackedB is a matrix op(B) in the order in which the inner loops of one tier read
// it, in one of several formats. It is immutable, holds all that is needed of B, and
// may be shared by goroutines.
type PackedB struct {
	format *format
	k, n   int
	tail   int    // the last columns, which are dot products, behind the panels
	stride int    // bytes of a panel
	data   []byte // panels, and the tail
}

// K is the number of rows of op(B).
func (b *PackedB) K() int { return b.k }

// N is the number of columns of op(B).
func (b *PackedB) N() int { return b.n }

// Bytes is the memory that the packed elements take.
func (b *PackedB) Bytes() int { return len(b.data) }

// PackB packs op(B), which is k x n, for GemmPacked on the active tier. B is
// stored k x n with rows ldb apart, or n x k with transB = Trans. It is not needed
// any more afterwards.
func PackB(transB Transpose, k, n int, b []float32, ldb int) *PackedB {
	checkSize("PackB", "k", k)
	checkSize("PackB", "n", n)
	if transB {
		checkMatrix("PackB", "b", len(b), n, k, ldb)
	} else {
		checkMatrix("PackB", "b", len(b), k, n, ldb)
	}
	p := newPackedB("PackB", formatOf(FormatF32, Active()), k, n)
	if k != 0 && n != 0 {
		p.pack(&operandB{data: b, ld: ldb, trans: transB})
	}
	return p
}

// pack fills the panels and the tail, which are float32, from B.
func (p *PackedB) pack(b *operandB) {
	f, n := p.format, p.n-p.tail
	b.packPanels(f.isa, p.floats(0, 0), 0, 0, p.k, n, f.nr)
	b.packDots(f.isa, p.tailColumns(), 0, n, p.k, p.tail)
}

// PackBRows packs the n x k matrix B^T, the layout of torch.nn.Linear weights, from
// its rows: row writes the k elements of row j to dst. It is called once for every
// row, in order, so that a matrix can be read from a file, or be made float32, row by row.
// Beside the packed form it takes the memory of one panel of rows.
func PackBRows(f Format, n, k int, row func(j int, dst []float32)) *PackedB {
	const fn = "PackBRows"
	checkSize(fn, "n", n)
	checkSize(fn, "k", k)
	if int(f) >= len(formatNames) {
		panicSize(fn, "f", int(f), "want a Format")
	}
	if row == nil {
		panic("kernels.PackBRows: row is nil")
	}
	p := newPackedB(fn, formatOf(f, Active()), k, n)
	packRows(p, k, row, p.format.pack)
	for c := range p.tail {
		row(n-p.tail+c, p.tailColumns()[c*k:][:k])
	}
	return p
}

// packRows packs the columns of all panels from rows of B^T, of size elements each.
func packRows[T float32 | byte](p *PackedB, size int, row func(j int, dst []T), pack func(panel []byte, scales []float32, columns []T, n, k int)) {
	nr, n := p.format.nr, p.n-p.tail
	rows := make([]T, min(nr, n)*size)
	for j := 0; j < n; j += nr {
		w := min(nr, n-j)
		for c := range w {
			row(j+c, rows[c*size:][:size])
		}
		var scales []float32
		if all := p.scales(); all != nil {
			scales = all[j:][:nr]
		}
		pack(p.panel(j, 0)[:p.stride], scales, rows, w, p.k)
	}
}

// Block is how many elements a block of the format has in a file, and how many bytes: those of
// GGUF's type of that name, or of one number. They are 0 for FormatInt8, which files do not have.
func (f Format) Block() (elements, bytes int) {
	switch f {
	case FormatF32:
		return 1, 4
	case FormatBF16, FormatF16:
		return 1, 2
	}
	l := blockLayouts[f]
	return l.Elements, l.file
}

// PackBBlocks is [PackBRows] for rows that have the format already, as in a GGUF file: row
// writes the blocks of row j of B^T, little-endian, to dst. Nothing is rounded. k is a multiple
// of the elements of a block; see [Format.Block].
func PackBBlocks(f Format, n, k int, row func(j int, dst []byte)) *PackedB {
	const fn = "PackBBlocks"
	checkSize(fn, "n", n)
	checkSize(fn, "k", k)
	elements, bytes := f.Block()
	if elements == 0 {
		panicSize(fn, "f", int(f), "want a Format that files have")
	}
	if k%elements != 0 {
		panicSize(fn, "k", k, fmt.Sprintf("want a multiple of %d", elements))
	}
	if row == nil {
		panic("kernels.PackBBlocks: row is nil")
	}
	size := k / elements * bytes
	if blockLayouts[f].Elements == 0 {
		var buf []byte
		return PackBRows(f, n, k, func(j int, dst []float32) {
			if buf == nil {
				buf = make([]byte, size)
			}
			row(j, buf)
			numbersOf(f, dst, buf)
		})
	}
	p := newPackedB(fn, formatOf(f, Active()), k, n)
	packRows(p, size, row, func(panel []byte, _ []float32, columns []byte, n, k int) { p.format.packFile(panel, columns, n, k) })
	return p
}

// numbersOf makes the numbers of a row, little-endian, float32.
func numbersOf(f Format, dst []float32, b []byte) {
	for i := range dst {
		switch f {
		case FormatBF16:
			dst[i] = half.BFloat16(binary.LittleEndian.Uint16(b[2*i:]))
		case FormatF16:
			dst[i] = half.Float16(binary.LittleEndian.Uint16(b[2*i:]))
		default:
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
}

// Column writes column j of op(B), a row of B^T, to dst, which has K elements: as it
// was packed, or rounded to the format.
func (b *PackedB) Column(dst []float32, j int) {
	if j < 0 || j >= b.n {
		panicSize("PackedB.Column", "j", j, fmt.Sprintf("want 0 to %d", b.n-1))
	}
	checkLen("PackedB.Column", "dst", len(dst), b.k, "K")
	if b.k == 0 {
		return
	}
	if from := b.n - b.tail; j >= from {
		copy(dst, b.tailColumns()[(j-from)*b.k:])
		return
	}
	b.format.column(dst, b.panel(j, 0)[:b.stride], j%b.format.nr)
	if scales := b.scales(); scales != nil {
		for i := range dst {
			dst[i] *= scales[j]
		}
	}
}
