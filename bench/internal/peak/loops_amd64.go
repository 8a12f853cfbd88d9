package peak

import "github.com/avoformer/avoformer/kernels"

//go:noescape
func fmaAVX2(n int)

//go:noescape
func fmaAVX512(n int)

//go:noescape
func readAVX2(x []float32) float32

//go:noescape
func readAVX512(x []float32) float32

//go:noescape
func copyAVX2(dst, src []float32)

//go:noescape
func copyAVX512(dst, src []float32)

func loopsOf(isa kernels.ISA) loops {
	switch isa {
	case kernels.AVX512:
		return loops{fmaAVX512, 12 * 16, readAVX512, copyAVX512}
	case kernels.AVX2:
		return loops{fmaAVX2, 12 * 8, readAVX2, copyAVX2}
	}
	return generic
}
