package asm

import (
	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/kernel"
)

// tileKernels are products by tiles, products of bfloat16 by vectors, and the preparation of their
// operands. Products by tiles use the vectors of AVX2, so that an emulator of tiles can execute
// them on any processor with that tier.
var tileKernels = []Kernel{
	{
		File: "int8_tiles", Source: "tiles.go", Name: "int8Tiles",
		Doc: []string{
			"multiplies rows of integers by panels of nr columns, 16 or 32:",
			"",
			"\tsum := start[i] + the sum over p < k of a[i*lda+p] * b[q*ldb+p/4*4*nr+4*j+p%4]",
			"\tc[i*ldc+q*nr+j] = float32(float32(float32(sum) * scale[i]) * weight[q*nr+j]) + bias[q*nr+j]",
			"",
			"for each panel q, without the bias if there is none. k is a multiple of 16. Sums wrap around.",
		},
		Params: []Param{
			each("m", 1, "1", "15", "16", "17", "31", "32", "70"), each("k", 16, "16", "96", "128", "640"),
			each("nr", 16, "16", "32"), turn("panels", 1, "1", "2", "3"),
			in("a", "m", "k", "lda").of(Int8), Stride("lda"), in("scale", "1", "m", ""), in("start", "1", "m", "").of(Int32),
			in("b", "panels", "k*nr", "ldb").of(Uint8), Stride("ldb"),
			in("weight", "1", "panels*nr", ""), in("bias", "1", "panels*nr", "").orEmpty(),
			Operand{Name: "sums", Elem: Int32, Rows: "1", Cols: expr(kernel.TileSums), Access: Scratch},
			out("c", "m", "panels*nr", "ldc"), Stride("ldc"),
		},
		Close: Closeness{Exact: true},
		On:    []On{{Tier: "AVX2", Needs: []arch.Feature{arch.AMX}, Body: kernel.Int8Tiles}},
	},
	{
		File: "bfloat16_tiles", Source: "tiles.go", Name: "bfloat16Tiles",
		Doc: []string{
			"multiplies rows of bfloat16 numbers by panels of nr columns, 16 or 32:",
			"",
			"\tc[i*ldc+q*nr+j] = the sum over p < k of a[i*lda+p] * b[q*ldb+p/2*2*nr+2*j+p%2]",
			"",
			"for each panel q. k is a multiple of 32. Of each 32 steps of k, the products of even steps are summed up in their order, and so are those",
			"of odd steps; both sums are added, and the result is added to the sum of the previous steps. Each of these additions rounds once to the",
			"nearest float32, ties to even. Denormal numbers, operands and sums alike, count as zero.",
		},
		Params: []Param{
			each("m", 1, "1", "16", "17", "32", "33"), each("k", 32, "32", "320"),
			each("nr", 16, "16", "32"), turn("panels", 1, "1", "2", "3"),
			in("a", "m", "k", "lda").of(Uint16), Stride("lda"),
			in("b", "panels", "k*nr", "ldb").of(Uint16), Stride("ldb"),
			out("c", "m", "panels*nr", "ldc"), Stride("ldc"),
		},
		Close: Closeness{Exact: true},
		On:    []On{{Tier: "AVX2", Needs: []arch.Feature{arch.AMX}, Body: kernel.BFloat16Tiles}},
	},
	{
		File: "bfloat16_pairs", Source: "gemm_bfloat16.go", Name: "bfloat16Pairs",
		Doc: []string{
			"multiplies rows of bfloat16 numbers by a panel of nr columns, the tier's NR:",
			"",
			"\tc[i*ldc+j] = the sum over p < k of a[i*lda+p] * b[p/2*2*nr+2*j+p%2]",
			"",
			"k is a multiple of 8. The sum begins with 0, or with c[i*ldc+j] if add is not 0. Of each pair of steps the product of the odd one is added",
			"first, then that of the even one. Each addition of a product rounds once to the nearest float32, ties to even. Denormal numbers, operands",
			"and sums alike, count as zero: VDPBF16PS in Intel's manual, volume 2. If ahead is not 0, the memory ahead bytes after the current elements",
			"of b is fetched into the second-level cache, and the memory ahead/4 bytes after them into the first.",
		},
		Params: []Param{
			each("m", 0, "1", "2", "3", "4", "5", "6", "9", "12", "13", "14", "15", "21", "29"), turn("k", 8, "8", "16", "24", "40"), turn("nr", 1, "nr"),
			in("a", "m", "k", "lda").of(Uint16), Stride("lda"), in("b", "k", "nr", "").of(Uint16), hint("ahead", "0", "64", "k*nr"),
			turn("add", 0, "0", "1"), update("c", "m", "nr", "ldc"), Stride("ldc"),
		},
		Close: Closeness{Exact: true},
		On:    []On{{Tier: "AVX512", Needs: []arch.Feature{arch.AVX512BF16}, Body: kernel.BFloat16Pairs}},
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
}
