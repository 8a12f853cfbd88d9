package weights

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
)

// This file has a packed matrix, and its packing.

// Matrix is a matrix op(B) in one of the formats, in the order in which the inner loops of one tier
// read it.
type Matrix struct {
	Record *Record
	K, N   int
	stride int    // bytes per panel
	Data   []byte // panels
}

// panelBytes returns the size of a panel of k steps.
func (f *Record) panelBytes(k int) int { return (k + f.Steps - 1) / f.Steps * f.bytes }

// New allocates a k x n matrix; its elements are zero.
func New(fn string, f *Record, k, n int) (p Matrix) {
	p, size := shape(fn, f, k, n)
	if size == 0 {
		return p
	}
	words := make([]uint64, (size+7)/8) // begins on a page if it is large
	p.Data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)
	if f.Kind.columnScales() {
		p.unbalanced()
	}
	return p
}

// Over returns the k x n matrix whose elements are data, which are those of another matrix with the
// same layout. The caller has compared the length of data with Bytes.
func Over(fn string, f *Record, k, n int, data []byte) Matrix {
	p, _ := shape(fn, f, k, n)
	p.Data = data
	return p
}

// Layout returns a name of everything that determines the order and the values of packed elements.
func (f *Record) Layout() string {
	order := "be"
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		order = "le"
	}
	return fmt.Sprintf("%v-%v-%d-%d-%d-%d-%s", f.Format, f.ISA, f.NR, f.Steps, f.bytes, f.Kind, order)
}

// Bytes returns the size in bytes of a k x n matrix, without allocating it.
func Bytes(fn string, f *Record, k, n int) int {
	_, size := shape(fn, f, k, n)
	return size
}

// shape returns a k x n matrix without elements, and the number of bytes of its elements.
func shape(fn string, f *Record, k, n int) (p Matrix, size int) {
	p = Matrix{Record: f, K: k, N: n, stride: f.panelBytes(k)}
	if k == 0 || n == 0 {
		return p, 0
	}
	mem.MulLen(fn, mem.MulLen(fn, (k+f.Steps-1)/f.Steps, f.bytes)+4, p.panels()*f.NR) // the size may be too large
	size = p.panels() * p.stride
	if f.Kind.columnScales() {
		size += 4 * (p.panels()*f.NR + rotatedLen(k))
	}
	return p, size
}

// panels returns the number of panels.
func (b *Matrix) panels() int { return (b.N + b.Record.NR - 1) / b.Record.NR }

// Panel returns the memory that begins with the panel of column j and the block of step p.
func (b *Matrix) Panel(j, p int) []byte {
	f := b.Record
	return b.Data[j/f.NR*b.stride+p/f.Steps*f.bytes:]
}

// Floats returns the same memory as Panel, for elements that are float32.
func (b *Matrix) Floats(j, p int) []float32 { return mem.Floats(b.Panel(j, p)) }

// Widen converts k steps from step p of the panel of column j to float32.
func (b *Matrix) Widen(dst []float32, j, p, k int) {
	b.Record.Widen(dst, b.Panel(j, p)[:b.Record.panelBytes(k)])
}

// Scales returns the scales of the columns of all panels, if the format has them.
func (b *Matrix) Scales() []float32 {
	if !b.Record.Kind.columnScales() {
		return nil
	}
	return mem.Floats(b.Data[b.panels()*b.stride:])[:b.panels()*b.Record.NR]
}

// Pack fills the panels from B.
func (p *Matrix) Pack(b *pack.B) {
	f, nr := p.Record, p.Record.NR
	if f.Format == F32 {
		b.PackPanels(f.ISA, p.Floats(0, 0), 0, 0, p.K, p.N, nr)
		return
	}
	rows := make([]float32, min(nr, p.N)*p.K)
	if f.Kind.columnScales() {
		var sample []float32
		for j := 0; j < p.N; j += p.SampleStep() {
			b.Columns(f.ISA, rows, j, 1, p.K)
			sample = append(sample, rows[:p.K]...)
		}
		p.Balance(sample)
	}
	for j := 0; j < p.N; j += nr {
		n := min(nr, p.N-j)
		b.Columns(f.ISA, rows, j, n, p.K)
		p.PackPart(j, rows[:n*p.K])
	}
}

// PackRows packs B from the rows of B^T, which row returns one after the other.
func (p *Matrix) PackRows(row func(j int, dst []float32)) {
	if p.Record.Kind.columnScales() {
		p.packBalanced(row)
		return
	}
	packEach(p, p.K, row, p.PackPart)
}

// packBalanced does the work of PackRows for int8, which needs a sample of all rows before it packs
// the first one.
func (p *Matrix) packBalanced(row func(j int, dst []float32)) {
	rows := make([]float32, p.N*p.K)
	for j := range p.N {
		row(j, rows[j*p.K:][:p.K])
	}
	var sample []float32
	for j := 0; j < p.N; j += p.SampleStep() {
		sample = append(sample, rows[j*p.K:][:p.K]...)
	}
	p.Balance(sample)
	p.PackPart(0, rows)
}

// PackBlocks does the same as PackRows for rows in the format of files, little-endian.
func (p *Matrix) PackBlocks(row func(j int, dst []byte)) {
	elements, bytes := p.Record.Format.Block()
	packEach(p, p.K/elements*bytes, row, p.PackFilePart)
}

// packEach packs rows of B^T, of size elements each. It packs the rows of a whole panel at a time.
func packEach[T float32 | byte](p *Matrix, size int, row func(j int, dst []T), pack func(j int, rows []T)) {
	nr := p.Record.NR
	rows := make([]T, min(nr, p.N)*size)
	for j := 0; j < p.N; j += nr {
		n := min(nr, p.N-j)
		for r := range n {
			row(j+r, rows[r*size:][:size])
		}
		pack(j, rows[:n*size])
	}
}

// PackPart packs rows of B^T from row j on. j must be a multiple of NR, and so must the number of
// rows unless they are the last. Several goroutines may pack parts concurrently.
func (p *Matrix) PackPart(j int, rows []float32) {
	pack := p.Record.pack
	if p.Record.Kind.columnScales() {
		pack = func(panel []byte, scales, columns []float32, n, _ int) { p.packInt8(panel, scales, columns, n) }
	}
	packPart(p, j, rows, p.K, pack)
}

// PackFilePart does the same as PackPart for rows in the format of files, little-endian.
func (p *Matrix) PackFilePart(j int, rows []byte) {
	f := p.Record
	if f.packFile == nil {
		numbers := make([]float32, len(rows)/mem.Element)
		floatsOf(numbers, rows)
		p.PackPart(j, numbers)
		return
	}
	elements, bytes := f.Format.Block()
	packPart(p, j, rows, p.K/elements*bytes, func(panel []byte, _ []float32, columns []byte, n, k int) { f.packFile(panel, columns, n, k) })
}

// packPart packs rows of size elements each.
func packPart[T float32 | byte](p *Matrix, j int, rows []T, size int, pack func(panel []byte, scales []float32, columns []T, n, k int)) {
	if p.K == 0 {
		return
	}
	nr, end := p.Record.NR, min(j+len(rows)/size, p.N)
	for ; j < end; j += nr {
		w := min(nr, end-j)
		var scales []float32
		if all := p.Scales(); all != nil {
			scales = all[j:][:nr]
		}
		pack(p.Panel(j, 0)[:p.stride], scales, rows[:w*size], w, p.K)
		rows = rows[w*size:]
	}
}

// floatsOf reads float32, little-endian.
func floatsOf(dst []float32, b []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

// Column converts column j to float32.
func (b *Matrix) Column(dst []float32, j int) {
	if b.K == 0 {
		return
	}
	panel := b.Panel(j, 0)[:b.stride]
	if scales := b.Scales(); scales == nil {
		b.Record.column(dst, panel, j%b.Record.NR)
	} else {
		b.columnInt8(dst, panel, j%b.Record.NR)
		for i := range dst {
			dst[i] *= scales[j]
		}
	}
}
