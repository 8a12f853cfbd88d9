package kernels

import "unsafe"

// Packed weights of 16 bits: a panel as of float32, with shorter elements.

// halfFormat completes the record of a format whose elements are 16 bits, which narrow
// rounds to and widen gives the value of.
func halfFormat(r *format, narrow func(float32) uint16, widen func(isa ISA, dst []float32, x []uint16)) {
	r.steps, r.bytes = 1, 2*r.nr
	isa, nr := r.isa, r.nr
	r.pack = func(panel []byte, _, columns []float32, n, k int) {
		s := gemmScratchPool.Get().(*gemmScratch)
		s.b = grow(s.b, k*nr)
		clear(s.b)
		b := operandB{data: columns, ld: k, trans: Trans}
		b.packPanels(isa, s.b, 0, 0, k, n, nr)
		for i, to := 0, asHalves(panel); i < len(s.b); i++ {
			to[i] = narrow(s.b[i])
		}
		gemmScratchPool.Put(s)
	}
	r.widen = func(dst []float32, blocks []byte) { widen(isa, dst[:len(blocks)/2], asHalves(blocks)) }
}

// asHalves is the same memory, which must be aligned for 16 bits.
func asHalves(b []byte) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
}
