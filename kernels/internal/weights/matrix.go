package weights

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// A packed matrix, and packing it.

// Matrix is a matrix op(B) in the order in which the inner loops of one tier read it, in one of several
// formats.
type Matrix struct {
	Record *Record
	K, N   int
	Tail   int    // the last columns, which are dot products, after the panels
	Exact  bool   // a row of a product is summed up in the same order among any number of rows
	stride int    // bytes of a panel
	Data   []byte // panels, and the tail
}

// panelBytes is the size of a panel of k steps.
func (f *Record) panelBytes(k int) int { return (k + f.Steps - 1) / f.Steps * f.bytes }

// New has room for a k x n matrix; its elements are zero.
func New(fn string, f *Record, k, n int) (p Matrix) {
	p = Matrix{Record: f, K: k, N: n, stride: f.panelBytes(k)}
	if k == 0 || n == 0 {
		return p
	}
	if f.hasTail {
		p.Tail = tune.DotColumns(f.ISA, n, k, 0)
	}
	mem.MulLen(fn, mem.MulLen(fn, (k+f.Steps-1)/f.Steps, f.bytes)+4, p.panels()*f.NR+p.Tail) // may be too large
	size := p.panels()*p.stride + 4*p.Tail*k
	if f.Kind.columnScales() {
		size += 4 * p.panels() * f.NR
	}
	words := make([]uint64, (size+7)/8) // on a page, if there are many
	p.Data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)
	return p
}

// panels is how many panels there are.
func (b *Matrix) panels() int { return (b.N - b.Tail + b.Record.NR - 1) / b.Record.NR }

// Panel is the memory from the panel of column j and the block of step p on.
func (b *Matrix) Panel(j, p int) []byte {
	f := b.Record
	return b.Data[j/f.NR*b.stride+p/f.Steps*f.bytes:]
}

// Floats is panel, where the elements are float32.
func (b *Matrix) Floats(j, p int) []float32 { return mem.Floats(b.Panel(j, p)) }

// Widen makes k steps from step p of the panel of column j float32.
func (b *Matrix) Widen(dst []float32, j, p, k int) {
	b.Record.Widen(dst, b.Panel(j, p)[:b.Record.panelBytes(k)])
}

// TailColumns is the columns that are dot products, K elements each.
func (b *Matrix) TailColumns() []float32 {
	return mem.Floats(b.Data[b.panels()*b.stride:])
}

// Scales is those of the columns of all panels, where they have any.
func (b *Matrix) Scales() []float32 {
	if !b.Record.Kind.columnScales() {
		return nil
	}
	return mem.Floats(b.Data[b.panels()*b.stride:])
}

// Pack fills the panels and the tail, which are float32, from B.
func (p *Matrix) Pack(b *pack.B) {
	f, n := p.Record, p.N-p.Tail
	b.PackPanels(f.ISA, p.Floats(0, 0), 0, 0, p.K, n, f.NR)
	b.PackDots(f.ISA, p.TailColumns(), 0, n, p.K, p.Tail)
}

// PackRows packs B from the rows of B^T, which row makes one after the other.
func (p *Matrix) PackRows(row func(j int, dst []float32)) {
	packEach(p, p.K, row, p.Record.pack)
	for c := range p.Tail {
		row(p.N-p.Tail+c, p.TailColumns()[c*p.K:][:p.K])
	}
}

// PackBlocks is packRows from rows in the format of files, little-endian.
func (p *Matrix) PackBlocks(row func(j int, dst []byte)) {
	f := p.Record
	elements, bytes := f.Format.Block()
	size := p.K / elements * bytes
	if f.packFile != nil {
		packEach(p, size, row, func(panel []byte, _ []float32, columns []byte, n, k int) { f.packFile(panel, columns, n, k) })
		return
	}
	var buf []byte
	p.PackRows(func(j int, dst []float32) {
		if buf == nil { // there are rows
			buf = make([]byte, size)
		}
		row(j, buf)
		numbersOf(f.Format, dst, buf)
	})
}

// packEach packs the columns of all panels from rows of B^T, of size elements each.
func packEach[T float32 | byte](p *Matrix, size int, row func(j int, dst []T), pack func(panel []byte, scales []float32, columns []T, n, k int)) {
	nr, n := p.Record.NR, p.N-p.Tail
	rows := make([]T, min(nr, n)*size)
	for j := 0; j < n; j += nr {
		w := min(nr, n-j)
		for c := range w {
			row(j+c, rows[c*size:][:size])
		}
		if p.K == 0 {
			continue
		}
		var scales []float32
		if all := p.Scales(); all != nil {
			scales = all[j:][:nr]
		}
		pack(p.Panel(j, 0)[:p.stride], scales, rows, w, p.K)
	}
}

// numbersOf makes the numbers of a row, little-endian, float32.
func numbersOf(f Format, dst []float32, b []byte) {
	for i := range dst {
		switch f {
		case BF16:
			dst[i] = half.BFloat16(binary.LittleEndian.Uint16(b[2*i:]))
		case F16:
			dst[i] = half.Float16(binary.LittleEndian.Uint16(b[2*i:]))
		default:
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
}

// Column makes column j float32.
func (b *Matrix) Column(dst []float32, j int) {
	if b.K == 0 {
		return
	}
	if from := b.N - b.Tail; j >= from {
		copy(dst, b.TailColumns()[(j-from)*b.K:])
		return
	}
	b.Record.column(dst, b.Panel(j, 0)[:b.stride], j%b.Record.NR)
	if scales := b.Scales(); scales != nil {
		for i := range dst {
			dst[i] *= scales[j]
		}
	}
}
