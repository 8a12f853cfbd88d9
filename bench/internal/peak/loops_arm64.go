package peak

import "github.com/avoformer/avoformer/kernels"

//go:noescape
func fmaNEON(n int)

//go:noescape
func readNEON(x []float32) float32

//go:noescape
func copyNEON(dst, src []float32)

func loopsOf(isa kernels.ISA) loops {
	if isa == kernels.NEON {
		return loops{fma: fmaNEON, lanes: 24 * 4, read: readNEON, copyFloats: copyNEON}
	}
	return generic
}
