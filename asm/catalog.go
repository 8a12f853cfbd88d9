// Package asm is the catalog of avoformer's generated kernels: every assembly file, declaration and
// dispatch switch in package kernels/internal/simd comes from it, through cmd/kernelgen.
package asm

import (
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/kernel"
	"github.com/avoformer/avoformer/asm/vec"
)

// Catalog has every generated kernel.
var Catalog = slices.Concat(gemmKernels, gemvKernels, partKernels, softmaxKernels, normKernels, attentionKernels, vectorKernels, convertKernels, int8Kernels, tileKernels, blocksKernels, blockTileKernels, signKernels, stateKernels, quantizeKernels)

// vectorKernels work on vectors, elementwise.
var vectorKernels = []Kernel{
	unary("exp", "expVec", "exp(x[i])", kernel.Exp),
	unary("exp", "geluVec", "x[i]*Phi(x[i]), the erf form of GELU,", kernel.GELU).slow("NEON"),
	unary("exp", "geluTanhVec", "x[i]*(1+tanh(sqrt(2/pi)*(x[i]+0.044715*x[i]^3)))/2", kernel.GELUTanh).slow("NEON"),
	unary("exp", "siluVec", "x[i]/(1+exp(-x[i]))", kernel.SiLU).slow("NEON"),
	unary("exp", "sigmoidVec", "1/(1+exp(-x[i]))", kernel.Sigmoid).slow("NEON"),
	unary("exp", "tanhVec", "tanh(x[i])", kernel.Tanh).slow("NEON"),
	unary("exp", "erfVec", "erf(x[i])", kernel.Erf).slow("NEON"),
	unary("elementwise", "reluVec", "max(x[i], 0), or x[i] where that is NaN,", kernel.ReLU),
	binary("addVec", "a[i] + b[i]", kernel.Add),
	binary("mulVec", "a[i] * b[i]", kernel.Mul),
	binary("biasVec", "a[i] + b[i], or -Inf where b[i] is,", kernel.Bias),
	elementwise("scaleVec", "computes dst[i] = alpha*x[i] for every i of x.", kernel.ScaleVec,
		out("dst", "1", "n", "").or("x"), in("x", "1", "n", ""), scalar("alpha", 1.25)),
	elementwise("subSubVec", "computes dst[i] = (x[i]-a)-b for every i of x.", kernel.SubSubVec,
		out("dst", "1", "n", "").or("x"), in("x", "1", "n", ""), scalar("a", 0.75), scalar("b", -0.5)),
	elementwise("axpyVec", "computes y[i] += alpha*x[i] for every i of x.", kernel.AXPYVec,
		update("y", "1", "n", "").or("x"), in("x", "1", "n", ""), scalar("alpha", 1.25)),
}

// widenAhead documents what these kernels prefetch.
const widenAhead = "The memory ahead bytes after the current elements of x is fetched into the second-level cache."

// convertKernels widen elements.
var convertKernels = []Kernel{
	{
		File: "convert", Source: "convert.go", Name: "float16Vec",
		Doc:    []string{"computes dst[i] = the value of the binary16 number x[i] for every i of dst. A NaN becomes quiet.", widenAhead},
		Params: []Param{out("dst", "1", "n", ""), in("x", "1", "n", "").of(Uint16), hint("ahead", "0", "64", "2*n")}, Sizes: []Size{lengths("n", 0, "vectorLengths")},
		Close: Closeness{Exact: true},
		On:    float16Tiers,
		Body:  kernel.Float16Vec,
	},
	{
		File: "convert", Source: "convert.go", Name: "bfloat16Vec",
		Doc:    []string{"computes dst[i] = the value of the bfloat16 number x[i] for every i of dst.", widenAhead},
		Params: []Param{out("dst", "1", "n", ""), in("x", "1", "n", "").of(Uint16), hint("ahead", "0", "64", "2*n")}, Sizes: []Size{lengths("n", 0, "vectorLengths")},
		Close: Closeness{Exact: true},
		Body:  kernel.BFloat16Vec,
	},
	{
		File: "convert", Source: "convert.go", Name: "widenInt8",
		Doc: []string{"computes dst[i*cols+j] = x[i*ldx+j] * scale[i*ldscale] for i < rows and j < cols.", widenAhead},
		Params: []Param{out("dst", "rows", "cols", ""), in("x", "rows", "cols", "ldx").of(Int8), in("scale", "rows", "1", "ldscale"),
			rowsBetween("rows"), lengths("cols", 1, "rowLengths"), Stride("ldx"), Stride("ldscale"), hint("ahead", "0", "64", "cols")},
		Close: Closeness{Exact: true},
		Body:  kernel.WidenInt8,
	},
	{
		File: "convert", Source: "convert.go", Name: "widenInt8Panel",
		Doc: []string{"computes dst[i*nr+j] = x[i*nr+j] * scale[j] for i < rows and j < nr, the tier's NR.", widenAhead},
		Params: []Param{out("dst", "rows", "nr", ""), in("x", "rows", "nr", "").of(Int8), in("scale", "1", "nr", ""),
			each("rows", 0, "0", "1", "3", "4", "7", "8"), turn("nr", 1, "nr"), hint("ahead", "0", "64", "rows")},
		Close: Closeness{Exact: true},
		Body:  kernel.WidenInt8Panel,
	},
}

// signKernels work on vectors through their signs.
var signKernels = []Kernel{{
	File: "signs", Source: "signs.go", Name: "signDots",
	Doc: []string{
		"computes, for m vectors whose words of 32 signs lie lda apart, and n in panels of " + signPanel + ", dim minus twice the",
		"number of bits that differ:",
		"",
		"\tfor i := range m {",
		"\t\tfor j := range n {",
		"\t\t\tdiffer := 0",
		"\t\t\tfor w := range words {",
		"\t\t\t\tdiffer += the bits of a[w*lda+i] ^ b[(j/" + signPanel + "*words+w)*" + signPanel + "+j%" + signPanel + "]",
		"\t\t\t}",
		"\t\t\tdst[i*lddst+j] = dim - float32(differ) - float32(differ)",
		"\t\t}",
		"\t}",
		"",
		"n is a multiple of " + signPanel + "; words is at least 1, and at most 1 << 18.",
	},
	Params: []Param{
		out("dst", "m", "n", "lddst"), Stride("lddst"), in("a", "words", "m", "lda").of(Int32), Stride("lda"),
		in("b", Expr("n/"+signPanel), Expr("words*"+signPanel), "").of(Int32),
		each("m", 0, "1", "2", "3", "4", "5", "7", "8", "9", "17"), each("n", kernel.SignPanel, Expr(signPanel), Expr("3*"+signPanel)),
		each("words", 1, "1", "2", "12", "31", "32", "65"), scalar("dim", 384),
	},
	Close: Closeness{Exact: true},
	On: []On{
		{Tier: "AVX512", Needs: []arch.Feature{arch.AVX512VPOPCNTDQ}, Body: kernel.SignDotsByWords},
		{Tier: "AVX512"}, {Tier: "AVX2"}, {Tier: "NEON"},
	},
	Body: kernel.SignDots,
}}

var signPanel = strconv.Itoa(kernel.SignPanel)

func elementwise(name, doc string, emit func(vec.Machine), params ...Param) Kernel {
	return Kernel{File: "elementwise", Source: "elementwise.go", Name: name, Doc: []string{doc},
		Params: params, Sizes: []Size{lengths("n", 0, "vectorLengths")}, Close: Closeness{Exact: true}, Body: emit}
}

// unary returns an elementwise kernel of one input.
func unary(file, name, value string, u kernel.Unary) Kernel {
	k := elementwise(name, "computes dst[i] = "+value+" for every i of dst.", u.Emit,
		out("dst", "1", "n", "").or("x"), in("x", "1", "n", ""))
	k.File, k.Source = file, file+".go"
	return k
}

// slow returns the kernel with implementations that need up to 12 cycles per element on a slow
// core, twice the time that memory needs.
func (k Kernel) slow(implementations ...string) Kernel {
	k.Elements = map[string]int{}
	for _, name := range implementations {
		k.Elements[name] = mostElements / 2
	}
	return k
}

// binary returns an elementwise kernel of two inputs.
func binary(name, value string, emit func(vec.Machine)) Kernel {
	return elementwise(name, "computes dst[i] = "+value+" for every i of dst.", emit,
		out("dst", "1", "n", "").or("a", "b"), in("a", "1", "n", ""), in("b", "1", "n", ""))
}
