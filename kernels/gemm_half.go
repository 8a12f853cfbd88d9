package kernels

import (
	"unsafe"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Packed weights of 16 bits: a panel as of float32, with shorter elements.

// halfFormat completes the record of a format whose elements are 16 bits, which narrow
// rounds to, and number and widen give the values of.
func halfFormat(r *format, narrow func(dst []uint16, x []float32), number func(uint16) float32, widen func(isa ISA, dst []float32, x []uint16)) {
	r.steps, r.bytes = 1, 2*r.nr
	isa, nr := r.isa, r.nr
	r.pack = func(panel []byte, _, columns []float32, n, k int) {
		s := gemmScratchPool.Get().(*gemmScratch)
		s.b = grow(s.b, k*nr)
		clear(s.b)
		b := operandB{data: columns, ld: k, trans: Trans}
		b.packPanels(isa, s.b, 0, 0, k, n, nr)
		narrow(asHalves(panel)[:len(s.b)], s.b)
		gemmScratchPool.Put(s)
	}
	r.widen = func(dst []float32, blocks []byte) { widen(isa, dst[:len(blocks)/2], asHalves(blocks)) }
	r.column = func(dst []float32, panel []byte, j int) {
		for p, x := 0, asHalves(panel); p < len(dst); p++ {
			dst[p] = number(x[p*nr+j])
		}
	}
}

// hasPanel reports whether there is a micro-kernel for panels of the format, beside that of
// float32. It widens a row of B for every tile, so it is for few of them; sums are the same.
func (f *format) hasPanel() bool {
	switch f.Format {
	case FormatBF16:
		return simd.KernelGemmPanelBFloat16.On(f.isa).ISA != Generic
	case FormatF16:
		return simd.KernelGemmPanelFloat16.On(f.isa).ISA != Generic
	}
	return false
}

// multiplyHalves is a call of that for the panel of column j and k steps from step p.
func (b *PackedB) multiplyHalves(j, p, m, k int, alpha float32, x []float32, ldx int, beta float32, c []float32, ldc int) {
	f, panel := b.format, asHalves(b.panel(j, p))
	if f.Format == FormatBF16 {
		simd.GemmPanelBFloat16(f.isa, m, f.nr, k, alpha, x, ldx, panel, beta, c, ldc)
	} else {
		simd.GemmPanelFloat16(f.isa, m, f.nr, k, alpha, x, ldx, panel, beta, c, ldc)
	}
}

// asHalves is the same memory, which must be aligned for 16 bits.
func asHalves(b []byte) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
}
