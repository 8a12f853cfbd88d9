package weights

import (
	"encoding/binary"
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has packed weights of 16 bits, in panels like those of float32 with shorter elements.

// halfFormat completes the record of a format whose elements have 16 bits. narrow rounds to them,
// and number and widen return their values.
func halfFormat(r *Record, narrow func(dst []uint16, x []float32), number func(uint16) float32, widen func(isa simd.ISA, dst []float32, x []uint16, ahead int)) {
	r.Steps, r.bytes = 1, 2*r.NR
	isa, nr := r.ISA, r.NR
	r.pack = func(panel []byte, _, columns []float32, n, k int) {
		wide := widePanels.Get().(*[]float32)
		*wide = mem.Grow(*wide, k*nr)
		clear(*wide)
		b := pack.B{Data: columns, LD: k, Trans: true}
		b.PackPanels(isa, *wide, 0, 0, k, n, nr)
		narrow(mem.Halves(panel)[:len(*wide)], *wide)
		widePanels.Put(wide)
	}
	r.packFile = func(panel, columns []byte, n, k int) { packHalves(mem.Halves(panel), columns, n, k, nr) }
	r.Widen = func(dst []float32, blocks []byte) { widen(isa, dst[:len(blocks)/2], mem.Halves(blocks), 0) }
	r.column = func(dst []float32, panel []byte, j int) {
		for p, x := 0, mem.Halves(panel); p < len(dst); p++ {
			dst[p] = number(x[p*nr+j])
		}
	}
}

// packHalves packs n columns of k little-endian numbers of 16 bits into a panel of nr columns.
func packHalves(panel []uint16, columns []byte, n, k, nr int) {
	j := 0
	if littleEndian && k%4 == 0 && nr%4 == 0 && mem.HasWords(panel) && mem.HasWords(columns) {
		j = n &^ 3
		packWords(mem.Words(panel), mem.Words(columns), j, k/4, nr/4)
	}
	for ; j < n; j++ {
		for p := range k {
			panel[p*nr+j] = binary.LittleEndian.Uint16(columns[2*(j*k+p):])
		}
	}
}

// packWords does the same as packHalves for words of four numbers; k and nr count words. It
// transposes four words, of four columns, at a time.
func packWords(panel, columns []uint64, n, k, nr int) {
	const even, low = 0x0000ffff0000ffff, 0x00000000ffffffff
	const steps = 64 // these steps of all columns stay in the first-level cache
	for from := 0; from < k; from += steps {
		steps := min(steps, k-from)
		for j := 0; j < n; j += 4 {
			a := columns[j*k+from:][:steps]
			b, c, d := columns[(j+1)*k+from:][:len(a)], columns[(j+2)*k+from:][:len(a)], columns[(j+3)*k+from:][:len(a)]
			to := panel[4*from*nr+j/4:]
			for p := range a {
				w, x, y, z := a[p], b[p], c[p], d[p]
				w, x = w&even|x&even<<16, w>>16&even|x&^even
				y, z = y&even|z&even<<16, y>>16&even|z&^even
				to[3*nr] = x>>32 | z&^low
				to[2*nr] = w>>32 | y&^low
				to[nr] = x&low | z<<32
				to[0] = w&low | y<<32
				to = to[min(4*nr, len(to)):]
			}
		}
	}
}

// littleEndian reports whether memory has the byte order of files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// widePanels holds panels before they are narrowed.
var widePanels = sync.Pool{New: func() any { return new([]float32) }}

// HasPanel reports whether there is a micro-kernel for panels of the format, in addition to the one
// for float32. It widens a row of B for every tile, and is therefore worth it only for few tiles;
// the sums are the same.
func (f *Record) HasPanel() bool {
	switch f.Format {
	case BF16, BF16Fast:
		return simd.KernelGemmPanelBFloat16.InAssembly(f.ISA)
	case F16:
		return simd.KernelGemmPanelFloat16.InAssembly(f.ISA)
	}
	return false
}

// HasGemv reports whether Matrix.Gemv multiplies the format, if the format has panels of numbers.
func (f Format) HasGemv() bool { return f <= F16 || f == BF16Fast }

func (f Format) isBFloat16() bool { return f == BF16 || f == BF16Fast }
