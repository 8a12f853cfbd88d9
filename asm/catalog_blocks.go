package asm

import (
	"fmt"
	"slices"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/kernel"
)

// blocksKernels has the micro-kernels for weights in blocks, the layout of GGUF.
var blocksKernels = []Kernel{
	blocks("blocks8", kernel.BlockLayout{Elements: 32, Bits: 8, Group: 32},
		"The scale of column j has 16 bits and is at 2*j; w[4*nr*(p/4)+4*j+p%4] after all scales is q."),
	blocks("blocks4", kernel.BlockLayout{Elements: 32, Bits: 4, Group: 32},
		"The scale of column j has 16 bits and is at 2*j; w[4*nr*(p%16/4)+4*j+p%4]>>(p/16*4)&15 after all scales is q."),
	blocks("blocks4K", kernel.BlockLayout{Elements: 256, Bits: 4, Group: 32, Scales: true, Least: true},
		"A block of 256 begins with a number of 16 bits for each column, and then another one for the column's minimum. Then there",
		"are, 8 times, a byte for each column, a byte for its minimum, and w as in blocks4. The product of a column's number and",
		"byte is its scale, and that of the other two is its minimum."),
	blocks("blocks6K", kernel.BlockLayout{Elements: 256, Bits: 6, Group: 16, Scales: true},
		"A block of 256 begins with a number of 16 bits for each column. Then there are, 8 times, two signed bytes",
		"for each column, for two groups, and w for the first and for the second group. The scale is number times byte; q is",
		"w[4*nr*(p%8/4)+4*j+p%4]>>(p/8*4)&15 + w[8*nr+4*j+p%4]>>(p/4*2)&3 * 16."),
	blocks("blocks4Min", kernel.BlockLayout{Elements: 32, Bits: 4, Group: 32, Least: true},
		"The scale of column j has 16 bits and is at 2*j, and its minimum after all scales; then follows w as in blocks4."),
	blocks("blocks5", kernel.BlockLayout{Elements: 32, Bits: 5, Group: 32},
		"The scale of column j has 16 bits and is at 2*j; w as in blocks4 has the lower 4 bits of q, and bit p/4 of",
		"w[16*nr+4*j+p%4] is the fifth."),
	blocks("blocks5Min", kernel.BlockLayout{Elements: 32, Bits: 5, Group: 32, Least: true},
		"The scale of column j has 16 bits and is at 2*j, and its minimum after all scales; then follows w as in blocks5."),
	blocks("blocks5K", kernel.BlockLayout{Elements: 256, Bits: 5, Group: 32, Scales: true, Least: true},
		"A block is as in blocks4K, with w as in blocks5."),
	blocks("blocksCodes", kernel.BlockLayout{Elements: 32, Bits: 4, Group: 32, Codes: kernel.E2M1},
		"The scale of column j is 2 to the power of byte j minus 128; w as in blocks4 after these bytes has codes, and q is the",
		"number of a code plus 16: 16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4."),
	blocks("blocks4NL", kernel.BlockLayout{Elements: 32, Bits: 4, Group: 32, Codes: kernel.Nonlinear},
		"The scale of column j has 16 bits and is at 2*j; w as in blocks4 after all scales has codes, and q is the number of a",
		"code plus 128: 1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241."),
	blocks("blocks4NLK", kernel.BlockLayout{Elements: 256, Bits: 4, Group: 32, Scales: true, Codes: kernel.Nonlinear},
		"A block of 256 begins with a number of 16 bits for each column. Then there are, 8 times, a signed byte for each",
		"column and w as in blocks4NL. The scale is number times byte."),
	blocks("blocks3K", kernel.BlockLayout{Elements: 256, Bits: 3, Group: 16, Scales: true},
		"A block of 256 begins with a number of 16 bits for each column. Then there are, 8 times, two signed bytes",
		"for each column, for two groups, and w for both. The scale is number times byte; q of group g of the two is",
		"w[4*nr*g+4*j+p%4]>>(p/4*2)&3 + w[8*nr+4*j+p%4]>>(p/4+4*g)&1 * 4."),
}

// blockTileKernels multiply some of these layouts by tiles.
var blockTileKernels = []Kernel{blockTiles("blocks8"), blockTiles("blocks4"), blockTiles("blocks4K"), blockTiles("blocks4Min")}

// blockTiles returns the micro-kernel by tiles for the layout of another.
func blockTiles(name string) Kernel {
	at := slices.IndexFunc(blocksKernels, func(k Kernel) bool { return k.Name == name })
	l := blocksKernels[at].Blocks
	groups := Expr(fmt.Sprintf("k/%d", l.Group))
	doc := []string{
		"multiplies rows of integers by panels of nr columns with tiles; each panel has the results of " + name + ". The panels are ldb",
		"bytes apart. The sums begin with 0.",
	}
	params := []Param{
		each("m", 1, "1", "15", "16", "17", "32", "33", "70"), each("k", 32, "32", "96", "256", "544"),
		turn("nr", 1, "nr"), turn("panels", 1, "1", "2", "3"),
		in("a", "m", "k", "lda").of(Int8), Stride("lda"), in("scale", groups, "m", "ldscale"),
	}
	if l.Least {
		params = append(params, in("offset", groups, "m", "ldscale"))
	}
	params = append(params, Stride("ldscale"),
		in("b", "panels", Expr(fmt.Sprintf("(k+%d)/%d*%d*nr", l.Elements-1, l.Elements, l.Bytes())), "ldb").of(Uint8), Stride("ldb"),
		Operand{Name: "work", Elem: Int32, Rows: "1", Cols: expr(kernel.BlockTileWork), Access: Scratch},
		out("c", "m", "panels*nr", "ldc"), Stride("ldc"))
	return Kernel{
		File: "block_tiles", Source: "block_tiles.go", Name: name + "Tiles", Doc: doc, Params: params,
		Close: Closeness{Exact: true},
		On: []On{
			{Tier: "AVX512", Needs: []arch.Feature{arch.AMX}, Body: kernel.BlockTiles(l)},
			{Tier: "AVX2", Needs: []arch.Feature{arch.F16C, arch.AMX}, Body: kernel.BlockTiles(l)},
		},
	}
}

// blocks returns a micro-kernel for a layout.
func blocks(name string, l kernel.BlockLayout, layout ...string) Kernel {
	groups := Expr(fmt.Sprintf("k/%d", l.Group))
	start, offset := in("start", groups, "m", "ldscale").of(Int32), ""
	t := "start[g*ldscale+i]"
	switch {
	case l.Least:
		start = in("offset", groups, "m", "ldscale")
		offset, t = "\t\t\t\ts += float32(offset[g*ldscale+i] * the minimum of column j)", "0"
	case l.Wide() < 8:
		t += fmt.Sprintf(" >> %d", 8-l.Wide())
	}
	doc := []string{
		fmt.Sprintf("multiplies rows of integers by a panel of nr columns in groups of %d elements. The weights q", l.Group),
		"are unsigned:",
		"",
		"\tfor i := range m {",
		"\t\tfor j := range nr {",
		"\t\t\ts := float32(0), or c[i*ldc+j] if add is not 0",
		fmt.Sprintf("\t\t\tfor g := range k/%d {", l.Group),
		"\t\t\t\tt := " + t,
		fmt.Sprintf("\t\t\t\tfor p := range %d {", l.Group),
		fmt.Sprintf("\t\t\t\t\tt += a[i*lda+%d*g+p] * q", l.Group),
		"\t\t\t\t}",
		"\t\t\t\ts += float32(float32(float32(t)*scale[g*ldscale+i]) * the scale of column j)",
	}
	if offset != "" {
		doc = append(doc, offset)
	}
	doc = append(doc, "\t\t\t}", "\t\t\tc[i*ldc+j] = s", "\t\t}", "\t}", "", "k is a multiple of 32. If ahead is not 0, the memory ahead bytes after the current elements of b is fetched into the",
		"second-level cache, and the memory ahead/4 bytes after them into the first. It is a hint, which has an effect only on x86.")
	if l.Wide() == 8 {
		doc = append(doc, "start is -128 times the sum of the group's integers, because signed weights are multiplied as unsigned bytes, plus 128.")
	}
	k := each("k", 32, "32", "64", "160")
	if l.Elements > 32 {
		k = each("k", 32, "96", "256", "544")
	}
	return Kernel{
		File: "blocks", Source: "gemm_blocks.go", Name: name, Doc: append(doc, layout...),
		Params: []Param{
			each("m", 0, "1", "2", "5", "6", "7", "12", "13"), k, turn("nr", 1, "nr"),
			in("a", "m", "k", "lda").of(Int8), Stride("lda"),
			in("scale", groups, "m", "ldscale"), start, Stride("ldscale"),
			in("b", Expr(fmt.Sprintf("(k+%d)/%d", l.Elements-1, l.Elements)), Expr(fmt.Sprintf("%d*nr", l.Bytes())), "").of(Uint8),
			hint("ahead", "0", "64", "k*nr"), turn("add", 0, "0", "1"),
			update("c", "m", "nr", "ldc"), Stride("ldc"),
		},
		Close:  Closeness{Exact: true},
		Blocks: l,
		On: []On{
			{Tier: "AVX512", Needs: []arch.Feature{arch.AVX512VNNI}, Body: kernel.Blocks(l, kernel.BlockQuads)},
			{Tier: "AVX512", Body: kernel.Blocks(l, kernel.BlockPairs)},
			{Tier: "AVX2", Needs: []arch.Feature{arch.AVXVNNI, arch.F16C}, Body: kernel.Blocks(l, kernel.BlockQuads)},
			{Tier: "AVX2", Needs: []arch.Feature{arch.F16C}, Body: kernel.Blocks(l, kernel.BlockSigns)},
			{Tier: "NEON", Needs: []arch.Feature{arch.DotProd}, Body: kernel.Blocks(l, kernel.BlockQuads)},
			{Tier: "NEON", Body: kernel.Blocks(l, kernel.BlockWords)},
		},
	}
}
