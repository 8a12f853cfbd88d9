package asm

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/kernel"
)

// winogradDepths has the values of k in tests.
var winogradDepths = each("k", 32, "32", "96", "128", "160", "384")

// blocksOf returns the number of blocks of n elements.
func blocksOf(n string, block int) Expr { return Expr(fmt.Sprintf("(%s+%d)/%d", n, block-1, block)) }

// int8Kernels has the kernels of products of int8: one quantizes A, and each way in which machines
// multiply integers has a micro-kernel. All of them return the same bits as their twins.
var int8Kernels = []Kernel{
	{
		File: "int8_quantize", Source: "int8_quantize.go", Name: "quantizeInt8",
		Doc:    append(quantizeDoc(), "start[i] is -128 times the sum of the integers of the row."),
		Params: quantizeRowParams(Int8, in("start", "1", "rows", "").of(Int32)),
		Close:  Closeness{Exact: true},
		Body:   kernel.QuantizeRows(1, true),
	},
	rotateKernel("rotate128", kernel.RotateBlock),
	rotateKernel("rotate32", kernel.RotateGroup),
	{
		File: "int8_quantize", Source: "int8_quantize.go", Name: "quantizeInt16",
		Doc:    quantizeDoc(),
		Params: quantizeRowParams(Int16),
		Close:  Closeness{Exact: true},
		On:     []On{{Tier: "AVX512"}, {Tier: "AVX2"}},
		Body:   kernel.QuantizeRows(2, false),
	},
	quantizeWords("quantizeInt16By64", 64),
	quantizeWords("quantizeInt16By32", 32),
	{
		File: "int8_quantize", Source: "int8_quantize.go", Name: "quantizeInt8By32",
		Doc: []string{"does the same as quantizeInt8 for blocks of 32 of rows of any length. The scale of row i in block p/32 is scale[p/32*ldscale+i],",
			"and -128 times the sum of its integers is start[p/32*ldscale+i]."},
		Params: quantizeParams(32, Int8, in("start", "", "", "ldscale").of(Int32)),
		Close:  Closeness{Exact: true},
		Body:   kernel.QuantizeBlocks(kernel.WeightBlock, 1, true),
	},
	{
		File: "int8_quantize", Source: "int8_quantize.go", Name: "quantizeInt8By64",
		Doc:    []string{"does the same as quantizeInt8By32 for blocks of 64."},
		Params: quantizeParams(64, Int8, in("start", "", "", "ldscale").of(Int32)),
		Close:  Closeness{Exact: true},
		Body:   kernel.QuantizeBlocks(64, 1, true),
	},
	{
		File: "int8_quantize", Source: "int8_quantize.go", Name: "quantizeInt8By16",
		Doc:    []string{"does the same as quantizeInt8By32 for blocks of 16."},
		Params: quantizeParams(16, Int8, in("start", "", "", "ldscale").of(Int32)),
		Close:  Closeness{Exact: true},
		Body:   kernel.QuantizeBlocks(16, 1, true),
	},
	{
		File: "int8", Source: "gemm_int8.go", Name: "int8Quads",
		Doc: append(int8Doc("start[i]", "a[i*lda+p] * b[p/4*4*nr+4*j+p%4]"),
			"If ahead is not 0, on AVX-512 and with one row, the memory ahead bytes after the current elements of b is fetched",
			"into the second-level cache, and the memory ahead/4 bytes after them into the first."),
		Params: int8Params(Int8, Uint8, []Param{in("start", "1", "m", "").of(Int32)}, hint("ahead", "0", "64", "k*nr")),
		Close:  Closeness{Exact: true},
		On: []On{
			{Tier: "AVX512", Needs: []arch.Feature{arch.AVX512VNNI}},
			{Tier: "AVX2", Needs: []arch.Feature{arch.AVXVNNI}},
		},
		Body: kernel.Int8Panel(kernel.Quads),
	},
	{
		File: "int8", Source: "gemm_int8.go", Name: "int8Pairs",
		Doc:    int8Doc("0", "a[i*lda+p] * b[p/2*2*nr+2*j+p%2]"),
		Params: int8Params(Int16, Int8, nil),
		Close:  Closeness{Exact: true},
		On:     []On{{Tier: "AVX512"}, {Tier: "AVX2"}},
		Body:   kernel.Int8Panel(kernel.Pairs),
	},
	{
		File: "int8_winograd", Source: "gemm_int8_winograd.go", Name: "int8Winograd",
		Doc: []string{
			"computes the same as int8Pairs by Winograd's inner product, with half the number of multiplications. In each group of 32 elements of k, p is",
			"one of the first 16, q is p+16, and the sum t begins with ofRows[i] + ofColumns[j]:",
			"",
			"\tt += (a[i*lda+p] + b[q/2*2*nr+2*j+q%2]) * (a[i*lda+q] + b[p/2*2*nr+2*j+p%2])",
			"",
			"k is a multiple of 32.",
		},
		Params: winogradParams(),
		Close:  Closeness{Exact: true},
		On:     []On{{Tier: "AVX2"}},
		Body:   kernel.Int8Winograd,
	},
	{
		File: "int8_winograd", Source: "gemm_int8_winograd.go", Name: "winogradRows",
		Doc: []string{
			"computes the terms that int8Winograd subtracts for rows of A: ofRows[i] is the sum of -a[i*lda+p]*a[i*lda+q] over the pairs.",
		},
		Params: []Param{
			out("ofRows", "1", "rows", "").of(Int32),
			in("a", "rows", "k", "lda").of(Int16), each("rows", 0, "1", "2", "3"), winogradDepths, Stride("lda"),
		},
		Close: Closeness{Exact: true},
		On:    []On{{Tier: "AVX2"}},
		Body:  kernel.WinogradRows,
	},
	{
		File: "int8_winograd", Source: "gemm_int8_winograd.go", Name: "winogradColumns",
		Doc: []string{
			"converts a panel of B to words, dst[p] = b[p], and computes the terms that int8Winograd subtracts for its",
			"columns: ofColumns[j] is the sum of -b[p/2*2*nr+2*j+p%2]*b[q/2*2*nr+2*j+q%2] over the pairs.",
		},
		Params: []Param{
			out("dst", "k", "nr", "").of(Int16), out("ofColumns", "1", "nr", "").of(Int32),
			in("b", "k", "nr", "").of(Int8), winogradDepths, turn("nr", 1, "nr"),
		},
		Close: Closeness{Exact: true},
		On:    []On{{Tier: "AVX2"}},
		Body:  kernel.WinogradColumns,
	},
	{
		File: "int8", Source: "gemm_int8.go", Name: "int8Octets",
		Doc:    int8Doc("0", "a[i*lda+p] * b[p/8*8*nr+8*j+p%8]"),
		Params: int8Params(Int8, Int8, nil),
		Close:  Closeness{Exact: true},
		On:     []On{{Tier: "NEON", Needs: []arch.Feature{arch.I8MM}, Body: kernel.Int8Panel(kernel.Octets)}},
	},
	{
		File: "int8", Source: "gemm_int8.go", Name: "int8Dots",
		Doc:    int8Doc("0", "a[i*lda+p] * b[p/4*4*nr+4*j+p%4]"),
		Params: int8Params(Int8, Int8, nil),
		Close:  Closeness{Exact: true},
		On: []On{
			{Tier: "NEON", Needs: []arch.Feature{arch.DotProd}, Body: kernel.Int8Panel(kernel.Quads)},
			{Tier: "NEON", Body: kernel.Int8Panel(kernel.Words)},
		},
	},
}

// quantizeWords returns quantizeInt16 with blocks of the given number of elements.
func quantizeWords(name string, block int) Kernel {
	return Kernel{
		File: "int8_quantize", Source: "int8_quantize.go", Name: name,
		Doc:    []string{fmt.Sprintf("does the same as quantizeInt8By32 for blocks of %d, with integers of 16 bits and without start.", block)},
		Params: quantizeParams(block, Int16),
		Close:  Closeness{Exact: true},
		On:     []On{{Tier: "AVX512"}, {Tier: "AVX2"}},
		Body:   kernel.QuantizeBlocks(block, 2, false),
	}
}

// rotateKernel returns rotate with blocks of the given number of elements.
func rotateKernel(name string, block int) Kernel {
	n := strconv.Itoa(block)
	return Kernel{
		File: "int8_rotate", Source: "int8_rotate.go", Name: name,
		Doc: []string{
			"computes the Walsh-Hadamard transform of each block of " + n + " elements of rows of x, multiplied by by:",
			"",
			"\tdst[i*lddst+p] = x[i*ldx+p] * by[p]",
			"",
			"and then, for distances 1, 2, 4 and so on below " + n + ", for elements a and b of a block at this distance,",
			"where the index of a lacks the bit: a, b = a+b, a-b. cols is a multiple of " + n + ".",
		},
		Params: []Param{
			out("dst", "rows", "cols", "lddst"), in("x", "rows", "cols", "ldx"), in("by", "1", "cols", ""),
			each("rows", 0, "1", "2", "3"), each("cols", block, Expr(n), Expr("2*"+n), Expr("3*"+n)), Stride("lddst"), Stride("ldx"),
		},
		Close: Closeness{Exact: true},
		Body:  kernel.Rotate(block),
	}
}

func quantizeDoc() []string {
	return []string{
		"converts each row of x to integers:",
		"",
		"\tlargest := the largest magnitude of the row",
		"\tscale[i] = largest * float32(1.0/127)",
		"\tdst[i*lddst+p] = x[i*ldx+p] * (127/max(largest, 0x1p-100)), rounded once, ties to even",
		"",
		"If a row has a NaN or an infinity, its scale is NaN, and its integers are arbitrary.",
		"After cols elements, rows of dst have zeros. cols and filled are multiples of 32.",
	}
}

// quantizeRowParams returns the parameters of a kernel that quantizes whole rows.
func quantizeRowParams(elem Elem, starts ...Operand) []Param {
	params := []Param{
		out("dst", "rows", "filled", "lddst").of(elem), in("x", "rows", "cols", "ldx"),
		each("rows", 0, "1", "2", "3"), each("cols", 32, "32", "64", "96", "160", "512"), each("filled", 32, "cols", "cols+32"), Stride("lddst"), Stride("ldx"),
		out("scale", "1", "rows", ""),
	}
	for _, s := range starts {
		s.Access = Write
		params = append(params, s)
	}
	return params
}

// quantizeParams returns the parameters of a kernel that quantizes.
func quantizeParams(block int, elem Elem, starts ...Operand) []Param {
	blocks := blocksOf("cols", block)
	params := []Param{
		out("dst", "rows", "filled", "lddst").of(elem), in("x", "rows", "cols", "ldx"),
		each("rows", 0, "1", "2", "3"), lengths("cols", 1, "rowLengths"), each("filled", 32, "(cols+31)/32*32"), Stride("lddst"), Stride("ldx"),
		out("scale", blocks, "rows", "ldscale"),
	}
	for _, s := range starts {
		s.Rows, s.Cols, s.Access = blocks, "rows", Write
		params = append(params, s)
	}
	return append(params, Stride("ldscale"))
}

func int8Doc(start, product string) []string {
	return []string{
		"multiplies rows of integers by a panel of nr columns, the tier's NR:",
		"",
		"\tfor i := range m {",
		"\t\tfor j := range nr {",
		"\t\t\tt := " + start + ", and the bits of c[i*ldc+j] as an int32 if add is not 0",
		"\t\t\tfor p := range k {",
		"\t\t\t\tt += " + product,
		"\t\t\t}",
		"\t\t\tc[i*ldc+j] = float32(float32(float32(t) * scale[i]) * weight[j]) + bias[j]",
		"\t\t}",
		"\t}",
		"",
		"without bias[j] if there is no bias; if there are no weights, c receives the bits of t. There is no bias without weights.",
		"k is a multiple of 16, and no signed integer is below -127.",
	}
}

// int8Params returns the parameters of a micro-kernel, with starts after the scales and hints after
// B.
func int8Params(a, b Elem, starts []Param, hints ...Param) []Param {
	return slices.Concat([]Param{
		each("m", 0, "1", "2", "5", "6", "7", "8", "11", "12", "13", "19", "25"), each("k", 16, "16", "48", "64", "80", "192"), turn("nr", 1, "nr"),
		in("a", "m", "k", "lda").of(a), Stride("lda"),
		in("scale", "1", "m", ""),
	}, starts, []Param{
		in("b", "k", "nr", "").of(b), in("weight", "1", "nr", "").orEmpty(), in("bias", "1", "nr", "").orEmpty(),
	}, hints, []Param{turn("add", 0, "0", "1"), update("c", "m", "nr", "ldc"), Stride("ldc")})
}

// winogradParams returns the parameters of int8Winograd.
func winogradParams() []Param {
	return []Param{
		each("m", 0, "1", "2", "3", "4", "5", "8", "9"), winogradDepths, turn("nr", 1, "nr"),
		in("a", "m", "k", "lda").of(Int16), Stride("lda"),
		in("scale", "1", "m", ""), in("ofRows", "1", "m", "").of(Int32),
		in("b", "k", "nr", "").of(Int16), in("ofColumns", "1", "nr", "").of(Int32),
		in("weight", "1", "nr", "").orEmpty(), in("bias", "1", "nr", "").orEmpty(),
		turn("add", 0, "0", "1"), update("c", "m", "nr", "ldc"), Stride("ldc"),
	}
}
