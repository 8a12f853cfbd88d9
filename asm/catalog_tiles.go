package asm

import (
	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/kernel"
)

// tileKernels are products by tiles, and what comes before and after them. Products have no vectors, so that an emulator of tiles
// executes them on any processor.
var tileKernels = []Kernel{
	{
		File: "int8_tiles", Source: "tiles.go", Name: "int8Tiles",
		Doc: []string{
			"multiplies rows of integers with panels of nr columns, 16 or 32:",
			"",
			"\tsums[i*ldsums+q*nr+j] = the sum over p < k of a[i*lda+p] * b[q*ldb+p/4*4*nr+4*j+p%4]",
			"",
			"for each panel q. k is a multiple of 16. Sums wrap around.",
		},
		Params: []Param{
			each("m", 1, "1", "15", "16", "17", "31", "32", "33", "70"), each("k", 16, "16", "32", "64", "96", "112", "192"),
			each("nr", 16, "16", "32"), turn("panels", 1, "1", "2", "3"),
			in("a", "m", "k", "lda").of(Int8), Stride("lda"),
			in("b", "panels", "k*nr", "ldb").of(Uint8), Stride("ldb"),
			out("sums", "m", "panels*nr", "ldsums").of(Int32), Stride("ldsums"),
		},
		Close: Closeness{Exact: true},
		On:    []On{{Tier: "AVX2", Needs: []arch.Feature{arch.AMX}, Body: kernel.Int8Tiles}},
	},
	{
		File: "bfloat16_tiles", Source: "tiles.go", Name: "bfloat16Tiles",
		Doc: []string{
			"multiplies rows of bfloat16 numbers with panels of nr columns, 16 or 32:",
			"",
			"\tsums[i*ldsums+q*nr+j] = the sum over p < k of a[i*lda+p] * b[q*ldb+p/2*2*nr+2*j+p%2]",
			"",
			"for each panel q. k is a multiple of 32. Of each 32 steps of k, the products of even steps are summed up in their order, and so are those",
			"of odd steps; both sums are added, and that is added to the sum of the steps before. Each of these additions rounds once to the",
			"nearest float32, ties to even. Denormal numbers, operands and sums alike, count as zero.",
		},
		Params: []Param{
			each("m", 1, "1", "16", "17", "32", "33"), each("k", 32, "32", "96"),
			each("nr", 16, "16", "32"), turn("panels", 1, "1", "2", "3"),
			in("a", "m", "k", "lda").of(Uint16), Stride("lda"),
			in("b", "panels", "k*nr", "ldb").of(Uint16), Stride("ldb"),
			out("sums", "m", "panels*nr", "ldsums"), Stride("ldsums"),
		},
		Close: Closeness{Exact: true},
		On:    []On{{Tier: "AVX2", Needs: []arch.Feature{arch.AMX}, Body: kernel.BFloat16Tiles}},
	},
	{
		File: "bfloat16_rows", Source: "convert.go", Name: "bfloat16Rows",
		Doc: []string{
			"computes dst[i*lddst+j] = x[i*ldx+j], rounded to the nearest bfloat16 number, ties to even, for i < rows and j < cols, and 0 for j from cols",
			"to filled, which is cols, rounded up to a multiple of 32. A NaN becomes a quiet NaN.",
		},
		Params: []Param{
			out("dst", "rows", "filled", "lddst").of(Uint16), in("x", "rows", "cols", "ldx"),
			each("rows", 0, "1", "2", "3"), lengths("cols", 1, "rowLengths"), each("filled", 32, "(cols+31)/32*32"), Stride("lddst"), Stride("ldx"),
		},
		Close: Closeness{Exact: true},
		On:    []On{{Tier: "AVX512"}, {Tier: "AVX2"}},
		Body:  kernel.BFloat16Rows,
	},
	{
		File: "int8_ends", Source: "int8_ends.go", Name: "int8Ends",
		Doc: []string{
			"makes sums of integers elements of C:",
			"",
			"\tc[i*ldc+j] = float32(float32(float32(sums[i*ldsums+j]+start[i]) * scale[i]) * weight[j]) + bias[j]",
			"",
			"without bias[j] if there is none. n is a multiple of 32.",
		},
		Params: []Param{
			each("m", 0, "1", "2", "3"), each("n", 32, "32", "64", "96"),
			in("sums", "m", "n", "ldsums").of(Int32), Stride("ldsums"),
			in("scale", "1", "m", ""), in("start", "1", "m", "").of(Int32),
			in("weight", "1", "n", ""), in("bias", "1", "n", "").orEmpty(),
			out("c", "m", "n", "ldc"), Stride("ldc"),
		},
		Close: Closeness{Exact: true},
		On:    []On{{Tier: "AVX512"}, {Tier: "AVX2"}},
		Body:  kernel.Int8Ends,
	},
}
