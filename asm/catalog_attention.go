package asm

import (
	"fmt"
	"slices"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/kernel"
	"github.com/avoformer/avoformer/asm/vec"
)

// attentionKernels has the parts of attention, and whole attention for short heads.
var attentionKernels = []Kernel{
	{
		File: "attention", Source: "attention.go", Name: "attnSoftmax",
		Doc: []string{
			"adds a tile of scores to an online softmax:",
			"",
			"\tfor r := range rows {",
			"\t\trow := s[r*ld:][:cols]",
			"\t\told := max[r]",
			"\t\tmax[r] = maximum of old and row",
			"\t\tfactor[r] = exp(old - max[r])",
			"\t\tsum[r] *= factor[r]",
			"\t\tfor c, x := range row {",
			"\t\t\trow[c] = exp(x - max[r])",
			"\t\t\tsum[r] += row[c]",
			"\t\t}",
			"\t}",
			"",
			"where exp of -Inf minus -Inf is 0.",
		},
		Params: []Param{update("s", "rows", "cols", "ld"), turn("rows", 0, "1", "2", "3", "4", "7", "9"), lengths("cols", 1, "rowLengths"), Stride("ld"),
			update("max", "1", "rows", ""), update("sum", "1", "rows", ""), out("factor", "1", "rows", "")},
		Close: Closeness{Exact: true},
		Body:  kernel.AttnSoftmax,
	},
	{
		File: "attention", Source: "attention_keys.go", Name: "attnKeys",
		Doc: []string{
			"computes, panel by panel of nr rows, the tier's NR, a transpose:",
			"",
			"\tdst[i/nr*nr*cols+j*nr+i%nr] = x[i*ldx+j]",
			"",
			"for i < rows, a multiple of nr, and j < cols, a multiple of 16.",
		},
		Params: []Param{out("dst", "rows", "cols", ""), in("x", "rows", "cols", "ldx"), each("rows", 0, "0", "nr", "2*nr"),
			each("cols", 1, "16", "32", "48"), Stride("ldx"), turn("nr", 1, "nr")},
		Close: Closeness{Exact: true},
		On:    []On{{Tier: "AVX512"}},
		Body:  kernel.AttnKeys,
	},
	{
		File: "attention_panels", Source: "gemm_x86.go", Name: "attnPanels",
		Doc: []string{
			"does the same as gemmPanel for n columns, a multiple of the tier's NR: each NR of them have a panel of b, and panels begin",
			"panel elements apart. All operands are expected in a core's own caches.",
			"",
			"next, pace and count are hints: every two steps of k, 256 bytes of what is used afterwards are fetched, count",
			"times; the first begin next elements from b, and the others pace bytes further each.",
		},
		Params: []Param{
			each("m", 0, "1", "mr-1", "mr", "mr+1"), each("n", 1, "nr", "2*nr", "3*nr"), turn("k", 1, "1", "3", "4", "5", "8"), scalar("alpha", 1.25),
			in("a", "m", "k", "lda"), Stride("lda"), in("b", "k", "n", "ldb"), Stride("ldb"), turn("panel", 1, "nr"),
			hint("next", "0", "k*nr", "-nr"), hint("pace", "0", "256", "3"), hint("count", "0", "1", "nr"),
			scalar("beta", 0, 1, -0.5), accumulator("c", "m", "n", "ldc"), Stride("ldc"), turn("nr", 1, "nr"),
		},
		Close: sums,
		On:    []On{{Tier: "AVX512"}},
		Body:  kernel.AttnPanels,
	},
	{
		File: "attention", Source: "attention.go", Name: "attnScaleRows",
		Doc: []string{"computes x[r*ld+c] = x[r*ld+c]*factor[r] + 0, rounded once, for r < rows and c < cols."},
		Params: []Param{update("x", "rows", "cols", "ld"), rowsBetween("rows"), lengths("cols", 1, "rowLengths"), Stride("ld"),
			in("factor", "1", "rows", "")},
		Body: kernel.AttnScaleRows,
	},
	wholeHeads("attnShort", kernel.AttnShort, []string{
		fmt.Sprintf("computes attention of one head with at most %d queries and keys. Their scores are in s, in a row of %d elements for each key:", kernel.ShortQueries, kernel.ShortQueries),
		"",
		"\tfor r := range rows {",
		"\t\tfor j := range n {",
		fmt.Sprintf("\t\t\tscore[j] = s[j*%d+r] + bias[j*ldb+r]", kernel.ShortQueries),
		"\t\t}",
		"\t\tp := weight * softmax(score)",
		"\t\tfor c := range cols {",
		"\t\t\to[r*ldo+c] = sum_j p[j]*v[j*ldv+c]",
		"\t\t}",
		"\t}",
		"",
		"The elements of a row of bias from the number of rows on are not used. A bias of -Inf",
		"hides the key for any score; the result for a query that sees no key is zeros. If bias is empty,",
		"there is no bias. The kernel may leave any values in s.",
	}, Operand{Name: "bias", Elem: Float32, Rows: "n", Cols: expr(kernel.ShortQueries), Stride: "ldb", OneRow: true, Access: Read, MayBeEmpty: true},
		Operand{Name: "s", Elem: Float32, Rows: expr(kernel.ShortRows), Cols: expr(kernel.ShortQueries), Access: Scratch}),
	wholeHeads("attnFew", kernel.AttnFew, []string{
		fmt.Sprintf("does the same as attnShort for fewer queries and up to %d keys, with s[r*%d+j] for s[j*%d+r] and", kernel.FewKeys, kernel.FewRow, kernel.ShortQueries),
		"bias[r*ldb+j] for bias[j*ldb+r]. The elements of a row of bias from the n-th on are -Inf.",
	}, Operand{Name: "bias", Elem: Float32, Rows: "rows", Cols: "(n+15)&^15", Stride: "ldb", OneRow: true, Access: Read},
		Operand{Name: "s", Elem: Float32, Rows: "rows", Cols: expr(kernel.FewRow), Access: Scratch}),
	attnValues("", Float32, kernel.AttnValues),
	attnValues("Float16", Uint16, kernel.AttnValuesFloat16, float16Tiers...),
	attnValues("BFloat16", Uint16, kernel.AttnValuesBFloat16),
	attnValues("Int8", Int8, kernel.AttnValuesInt8),
	attnScores("Float16", Uint16, kernel.AttnScoresFloat16, float16Tiers...),
	attnScores("BFloat16", Uint16, kernel.AttnScoresBFloat16),
	attnScores("Int8", Int8, kernel.AttnScoresInt8),
	{
		File: "attention_words", Source: "attention_words.go", Name: "roundWords",
		Doc: []string{
			"converts rows of x to words: dst[i*lddst+j] = x[i*ldx+j]*factor, rounded once, ties to even. The result must fit a word. After",
			"cols elements, rows of dst have zeros. filled is cols, rounded up to a multiple of 16.",
		},
		Params: []Param{
			out("dst", "rows", "filled", "lddst").of(Int16), in("x", "rows", "cols", "ldx"), scalar("factor", 1<<kernel.WeightBits, 3),
			each("rows", 0, "1", "2", "3"), lengths("cols", 1, "rowLengths"), each("filled", 16, "(cols+15)/16*16"), Stride("lddst"), Stride("ldx"),
		},
		Close: Closeness{Exact: true},
		On:    wordTiers,
		Body:  kernel.RoundWords,
	},
	{
		File: "attention_words", Source: "attention_words.go", Name: "wordColumns",
		Doc: []string{
			"converts columns of x to words, each with a scale, in panels of nr columns, the tier's NR:",
			"",
			"\tlargest := the largest magnitude of the column",
			fmt.Sprintf("\tscale[j] = largest * float32(1.0/%d)", kernel.ValueTop),
			fmt.Sprintf("\tdst[j/nr*filled*nr+i/2*2*nr+j%%nr*2+i%%2] = x[i*ldx+j] * (%d/max(largest, 0x1p-100)), rounded once, ties to even", kernel.ValueTop),
			"",
			"If a column has a NaN or an infinity, its scale is NaN, and its integers are arbitrary. After rows elements,",
			"columns have zeros. filled is rows, rounded up to a multiple of 16.",
		},
		Params: []Param{
			out("dst", "filled", "cols", "").of(Int16), out("scale", "1", "cols", ""), in("x", "rows", "cols", "ldx"),
			each("rows", 1, "1", "2", "15", "16", "17", "32"), each("cols", 0, "nr", "2*nr"), each("filled", 16, "(rows+15)/16*16"), Stride("ldx"), turn("nr", 1, "nr"),
		},
		Close: Closeness{Exact: true},
		On:    wordTiers,
		Body:  kernel.WordColumns,
	},
	{
		File: "attention_words", Source: "attention_words.go", Name: "wordPanel",
		Doc: []string{
			"multiplies rows of words by a panel of nr columns, the tier's NR:",
			"",
			"\tfor i := range m {",
			"\t\tfor j := range nr {",
			"\t\t\tt := the sum of a[i*lda+p] * b[p/2*2*nr+2*j+p%2] for p < k, which has 31 bits for any order",
			"\t\t\tc[i*ldc+j] = float32(float32(t) * weight[j]), added to c[i*ldc+j] if add is not 0",
			"\t\t}",
			"\t}",
			"",
			"k is a multiple of 16.",
		},
		Params: []Param{
			each("m", 0, "1", "2", "5", "6", "7", "8", "11", "12", "13", "19", "25"), each("k", 16, "16", "48", "64"), turn("nr", 1, "nr"),
			in("a", "m", "k", "lda").of(Int16), Stride("lda"), in("b", "k", "nr", "").of(Int16), in("weight", "1", "nr", ""),
			turn("add", 0, "0", "1"), update("c", "m", "nr", "ldc"), Stride("ldc"),
		},
		Close: Closeness{Exact: true},
		On: []On{
			{Tier: "AVX512", Needs: []arch.Feature{arch.AVX512VNNI}, Body: kernel.WordPanel(kernel.WordDots)},
			{Tier: "AVX512", Body: kernel.WordPanel(kernel.WordPairs)}, {Tier: "AVX2", Body: kernel.WordPanel(kernel.WordPairs)},
			{Tier: "NEON", Body: kernel.WordPanel(kernel.WordHalves)},
		},
	},
}

// wordTiers has the tiers that multiply words at least as fast as floats.
var wordTiers = []On{{Tier: "AVX512"}, {Tier: "AVX2"}, {Tier: "NEON"}}

// attnValues returns the kernel that adds up values of one type.
func attnValues(suffix string, elem Elem, body func(vec.Machine), on ...On) Kernel {
	value, scale, cols := valueOf(elem, suffix, "v[j*ldv+c]", "scale[j]"), []Param{}, each("cols", 16, "16", "32", "48", "64", "80", "128", "144")
	if elem == Int8 {
		scale = append(scale, in("scale", "1", "n", ""))
	}
	doc := []string{"computes o[r*ldo+c] += sum_j p[r*ldp+j] * " + value + " for r < rows, c < cols and j < n, in order."}
	ahead := []Param{hint("ahead", "0", "64", "n*cols")}
	if elem == Float32 {
		cols, ahead = lengths("cols", 1, "vectorLengths"), nil
	} else {
		doc = append(doc, "cols is a multiple of 16. The memory ahead bytes after the current elements of v is fetched into the second-level cache.")
	}
	return Kernel{
		File: "attention_pages", Source: "attention_pages.go", Name: "attnValues" + suffix, Doc: doc,
		Params: slices.Concat([]Param{turn("rows", 1, "1", "2", "3", "4", "7"), turn("n", 0, "0", "1", "2", "3", "4", "5", "6", "7"), cols,
			update("o", "rows", "cols", "ldo"), Stride("ldo"), in("p", "rows", "n", "ldp"), Stride("ldp"),
			in("v", "n", "cols", "ldv").of(elem), Stride("ldv")}, scale, ahead),
		Close: Closeness{Exact: true},
		On:    on,
		Body:  body,
	}
}

// attnScores returns the kernel that multiplies queries by keys of one type.
func attnScores(suffix string, elem Elem, body func(vec.Machine), on ...On) Kernel {
	value, scale := valueOf(elem, suffix, "b[q*panel+p*nr+j]", "scale[q*nr+j]"), []Param{}
	if elem == Int8 {
		scale = append(scale, in("scale", "1", "panels*nr", ""))
	}
	return Kernel{
		File: "attention_pages", Source: "attention_pages.go", Name: "attnScores" + suffix,
		Doc: []string{
			"multiplies rows of a by consecutive panels of nr columns, the tier's NR. A panel has panel elements, and panel is k*nr:",
			"",
			"\tc[i*ldc+q*nr+j] = alpha * sum_p a[i*lda+p] * " + value,
			"",
			"for i < rows, q < panels, j < nr and p < k, in order. If ahead is not 0, the memory ahead bytes after the current elements of b",
			"is fetched into the second-level cache.",
		},
		Params: slices.Concat([]Param{turn("rows", 1, "1", "2", "3", "4", "7"), turn("panels", 1, "1", "2", "3", "4", "5", "7"), turn("nr", 1, "nr"),
			each("k", 0, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"), scalar("alpha", 1.25), in("a", "rows", "k", "lda"), Stride("lda"),
			in("b", "panels", "k*nr", "").of(elem), each("panel", 0, "k*nr")}, scale,
			[]Param{out("c", "rows", "panels*nr", "ldc"), Stride("ldc"), hint("ahead", "0", "64", "4*k*nr")}),
		Close: Closeness{Exact: true},
		On:    on,
		Body:  body,
	}
}

// valueOf returns the number that an element of some type stands for. Products of int8 and their
// scale are rounded.
func valueOf(elem Elem, suffix, element, scale string) string {
	switch {
	case elem == Int8:
		return "(" + scale + "*" + element + ")"
	case suffix == "Float16":
		return "the value of the binary16 number " + element
	case suffix == "BFloat16":
		return "the value of the bfloat16 number " + element
	}
	return element
}

func expr(n int) Expr { return Expr(fmt.Sprint(n)) }

// wholeHeads returns a kernel that computes all of attention for a head whose scores have been
// computed. The tests have their own list of sizes for it.
func wholeHeads(name string, emit func(vec.Machine), doc []string, bias, scratch Operand) Kernel {
	return Kernel{
		File: "attention", Source: "attention.go", Name: name, Doc: doc,
		Params: []Param{turn("rows", 0, "1"), turn("n", 1, "1"),
			bias, Stride("ldb"), scratch, scalar("weight", 0.75), turn("cols", 1, "1"),
			in("v", "n", "cols", "ldv"), Stride("ldv"), out("o", "rows", "cols", "ldo"), Stride("ldo")},
		Close: Closeness{Exact: true},
		Body:  emit,
	}
}
