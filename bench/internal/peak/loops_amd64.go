package peak

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/avoformer/avoformer/kernels"
)

//go:noescape
func fmaAVX2(n int)

//go:noescape
func fmaAVX512(n int)

// The multiply-adds of int8: pairs are VPMADDWD and VPADDD, quads VPDPBUSD.

//go:noescape
func pairsAVX2(n int)

//go:noescape
func pairsAVX512(n int)

//go:noescape
func quadsAVX2(n int)

//go:noescape
func quadsAVX512(n int)

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
		l := loops{fma: fmaAVX512, lanes: 12 * 16, read: readAVX512, copyFloats: copyAVX512, int8: pairsAVX512, int8Lanes: 12 * 32}
		if cpu.X86.HasAVX512VNNI && allowed("avx512vnni") {
			l.int8, l.int8Lanes = quadsAVX512, 12*64
		}
		return l
	case kernels.AVX2:
		l := loops{fma: fmaAVX2, lanes: 12 * 8, read: readAVX2, copyFloats: copyAVX2, int8: pairsAVX2, int8Lanes: 12 * 16}
		if cpu.X86.HasAVXVNNI && allowed("avxvnni") {
			l.int8, l.int8Lanes = quadsAVX2, 12*32
		}
		return l
	}
	return generic
}

// allowed reports whether AVOFORMER_CPU permits the kernels to use a feature.
func allowed(feature string) bool {
	return !slices.Contains(strings.Split(os.Getenv("AVOFORMER_CPU"), ","), "-"+feature)
}
