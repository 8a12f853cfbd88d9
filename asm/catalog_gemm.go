package asm

import (
	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/kernel"
	"github.com/avoformer/avoformer/asm/vec"
)

// sums is the closeness of dot products and other long sums.
var sums = Closeness{Sums: 64}

// gemmKernels are the micro-kernels of matrix products.
var gemmKernels = []Kernel{
	{
		File: "gemm", Source: "gemm_*.go", Name: "gemmPanel",
		Doc: []string{
			"computes one panel of C, at most the tier's NR columns wide, or exactly twice as wide:",
			"",
			"\tfor i := range m {",
			"\t\tfor j := range n {",
			"\t\t\ts := float32(0)",
			"\t\t\tfor p := range k {",
			"\t\t\t\ts += a[i*lda+p] * b[p*ldb+j]",
			"\t\t\t}",
			"\t\t\tc[i*ldc+j] = alpha*s + beta*c[i*ldc+j]",
			"\t\t}",
			"\t}",
			"",
			"next, pace, turn and steps are hints, which have an effect only on x86. If next is not 0, the memory that is used after the",
			"product begins next elements after b, and is fetched into the cache during the product. Each tile of rows in turn fetches two",
			"vectors for each step of k, at addresses pace bytes apart; after steps of them, a power of two and at least 4, turn bytes",
			"are added. If pace and turn are 0, the memory is rows ldb apart, and the last tile fetches them.",
		},
		Params: []Param{
			each("m", 0, "1", "mr-1", "mr", "mr+1"), each("n", 1, "1", "nr/2-1", "nr/2", "nr/2+1", "nr-1", "nr", "2*nr"),
			turn("k", 0, "0", "1", "3", "4", "5", "8"), scalar("alpha", 1.25),
			in("a", "m", "k", "lda"), Stride("lda"),
			in("b", "k", "n", "ldb"), Stride("ldb"), hint("next", "0", "k*nr", "-nr"), hint("pace", "0", "4*nr", "3"), hint("turn", "0", "-64", "3"), hint("steps", "0", "4", "nr"),
			scalar("beta", 0, 1, -0.5), accumulator("c", "m", "n", "ldc"), Stride("ldc"),
		},
		Close: sums,
		Body:  kernel.GemmPanel,
	},
	{
		File: "gemm_near", Source: "gemm_x86.go", Name: "gemmNear",
		Doc: []string{
			"does the same as gemmPanel for any number of columns. It fetches the columns of B next to those that it multiplies. All",
			"other memory is expected in a core's own caches.",
		},
		Params: []Param{
			each("m", 0, "1", "mr/2", "mr/2+1", "mr*2/3+1", "mr", "mr+1"), each("n", 1, "1", "width-1", "width", "width+1", "2*width", "3*width+1", "4*width", "5*width-1", "9*width+1"),
			turn("k", 1, "1", "3", "4", "5", "8"), scalar("alpha", 1.25),
			in("a", "m", "k", "lda"), Stride("lda"), in("b", "k", "n", "ldb"), Stride("ldb"),
			scalar("beta", 0, 1, -0.5), accumulator("c", "m", "n", "ldc"), Stride("ldc"),
		},
		Close: sums,
		On:    []On{{Tier: "AVX512"}, {Tier: "AVX2"}},
		Body:  kernel.GemmNear,
	},
	{
		File: "gemm_pair", Source: "gemm_x86.go", Name: "gemmPair",
		Doc: []string{
			"does the same as gemmPanel for two panels of nr columns, the tier's NR: the second panel begins panel elements after",
			"the first, and its part of C begins second elements after that of the first. It does not prefetch.",
		},
		Params: []Param{
			each("m", 0, "1", "mr/2-1", "mr/2", "mr/2+1", "mr+1"), turn("nr", 1, "nr"), turn("k", 1, "1", "3", "4", "5", "8"), scalar("alpha", 1.25),
			in("a", "m", "k", "lda"), Stride("lda"), in("b", "k", "2*nr", "ldb"), Stride("ldb"), turn("panel", 1, "nr"),
			scalar("beta", 0, 1, -0.5), accumulator("c", "m", "2*nr", "ldc"), Stride("ldc"), turn("second", 1, "nr"),
		},
		Close: sums,
		On:    []On{{Tier: "AVX2"}},
		Body:  kernel.GemmPair,
	},
	{
		File: "gemm", Source: "gemm_*.go", Name: "gemmPack",
		Doc: []string{
			"does the same as gemmPanel for a whole tile, m = MR and n = NR, and also packs the panel:",
			"",
			"\tfor p := range k {",
			"\t\tfor j := range n {",
			"\t\t\tdst[p*n+j] = b[p*ldb+j]",
			"\t\t}",
			"\t}",
		},
		Params: []Param{
			turn("m", 1, "mr"), turn("n", 1, "nr"), each("k", 1, "1", "2", "3", "4", "5", "8", "13"), scalar("alpha", 1.25),
			in("a", "m", "k", "lda"), Stride("lda"),
			in("b", "k", "n", "ldb"), Stride("ldb"),
			out("dst", "k", "n", ""),
			scalar("beta", 0, 1, -0.5), accumulator("c", "m", "n", "ldc"), Stride("ldc"),
		},
		Close: sums,
		Body:  kernel.GemmPack,
	},
	gemmHalves("Float16", "the value of the binary16 number b[p*nr+j]", kernel.GemmPanelFloat16, arch.F16C),
	gemmHalves("BFloat16", "the value of the bfloat16 number b[p*nr+j]", kernel.GemmPanelBFloat16),
	{
		File: "gemm_dot", Source: "gemm_dot.go", Name: "gemmDot",
		Doc: []string{
			"computes C = alpha*A*B^T:",
			"",
			"\tfor i := range m {",
			"\t\tfor j := range n {",
			"\t\t\ts := float32(0)",
			"\t\t\tfor p := range k {",
			"\t\t\t\ts += a[i*lda+p] * b[j*ldb+p]",
			"\t\t\t}",
			"\t\t\tc[i*ldc+j] = alpha*s",
			"\t\t}",
			"\t}",
			"",
			"Each lane of a vector has its own partial sums.",
		},
		Params: []Param{
			each("m", 0, "0", "1", "2", "3", "4", "5", "6", "7", "8"), each("n", 0, "0", "1", "2", "3", "4", "5"),
			each("k", 1, "1", "3", "width", "width+1", "4*width-1", "5*width"), scalar("alpha", 1.25),
			in("a", "m", "k", "lda"), Stride("lda"),
			in("b", "n", "k", "ldb"), Stride("ldb"),
			out("c", "m", "n", "ldc"), Stride("ldc"),
		},
		Close: sums,
		Body:  kernel.GemmDot,
	},
}

// gemmHalves returns gemmPanel for whole panels of elements of 16 bits, read as value. AVX2 needs
// some features for them.
func gemmHalves(suffix, value string, body func(vec.Machine), needs ...arch.Feature) Kernel {
	return Kernel{
		File: "gemm_halves", Source: "gemm_x86.go", Name: "gemmPanel" + suffix,
		Doc: []string{
			"computes one panel of C, the tier's NR columns wide:",
			"",
			"\tfor i := range m {",
			"\t\tfor j := range nr {",
			"\t\t\ts := float32(0)",
			"\t\t\tfor p := range k {",
			"\t\t\t\ts += a[i*lda+p] * " + value,
			"\t\t\t}",
			"\t\t\tc[i*ldc+j] = alpha*s + beta*c[i*ldc+j]",
			"\t\t}",
			"\t}",
		},
		Params: []Param{
			each("m", 0, "1", "mr-1", "mr", "mr+1"), turn("nr", 1, "nr"), each("k", 1, "1", "3", "4", "5", "8"), scalar("alpha", 1.25),
			in("a", "m", "k", "lda"), Stride("lda"), in("b", "k", "nr", "").of(Uint16),
			scalar("beta", 0, 1, -0.5), accumulator("c", "m", "nr", "ldc"), Stride("ldc"),
		},
		Close: sums,
		On:    []On{{Tier: "AVX512"}, {Tier: "AVX2", Needs: needs}},
		Body:  body,
	}
}

// accumulator returns an operand that the kernel scales by beta and adds to.
func accumulator(name string, rows, cols Expr, stride string) Operand {
	o := update(name, rows, cols, stride)
	o.Beta = "beta"
	return o
}

// gemvKernels multiply a single row.
var gemvKernels = []Kernel{
	gemvPanels("", "columns[p*nr+j]", Float32, kernel.GemvPanels),
	gemvPanels("Float16", "the value of the binary16 number columns[p*nr+j]", Uint16, kernel.GemvPanelsFloat16, float16Tiers...),
	gemvPanels("BFloat16", "the value of the bfloat16 number columns[p*nr+j]", Uint16, kernel.GemvPanelsBFloat16),
	{
		File: "gemv", Source: "gemv.go", Name: "gemvRows",
		Doc: []string{
			"computes c[j] += a[p]*b[p*ldb+j] for every p of a, in order, and every j of c. If ahead",
			"is above 0, the memory ahead elements after the current elements of b is fetched into the second-level cache.",
		},
		Sizes: []Size{lengths("n", 1, "vectorLengths"), turn("k", 0, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")},
		Params: []Param{update("c", "1", "n", ""), in("a", "1", "k", ""), in("b", "k", "n", "ldb"), Stride("ldb"),
			hint("ahead", "0", "n", "2*n")},
		Close: sums,
		Body:  kernel.GemvRows,
	},
	{
		File: "gemv", Source: "gemv.go", Name: "gemvDot",
		Doc: []string{
			"computes c[j] = alpha * sum_p a[p]*b[j*ldb+p] for every j of c. If ahead is above 0, several",
			"rows are multiplied together, and memory is fetched as by gemvRows.",
		},
		Sizes: []Size{lengths("k", 1, "vectorLengths"), turn("n", 0, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")},
		Params: []Param{scalar("alpha", 1.25), out("c", "1", "n", ""), in("a", "1", "k", ""), in("b", "n", "k", "ldb"), Stride("ldb"),
			hint("ahead", "0", "k", "2*k")},
		Close: sums,
		Body:  kernel.GemvDot,
	},
}

// gemvPanels returns the kernel for panels of one type of elements, read as value.
func gemvPanels(suffix, value string, elem Elem, body func(vec.Machine), on ...On) Kernel {
	return Kernel{
		File: "gemv", Source: "gemv.go", Name: "gemvPanels" + suffix,
		Doc: []string{
			"multiplies the vector a by panels of nr columns, the tier's NR, which begin panel elements apart:",
			"",
			"\tfor q := range panels {",
			"\t\tcolumns := b[q*panel:]",
			"\t\tfor j := range nr {",
			"\t\t\ts := float32(0)",
			"\t\t\tfor p := range a {",
			"\t\t\t\ts += a[p] * " + value,
			"\t\t\t}",
			"\t\t\tc[q*ldc+j] = alpha*s + beta*c[q*ldc+j]",
			"\t\t}",
			"\t}",
			"",
			"If ahead is not 0, the memory ahead bytes after the current elements of each panel is fetched into the second-level cache.",
		},
		Sizes: []Size{each("k", 0, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")},
		Params: []Param{turn("panels", 1, "1", "2", "3", "4", "7"), turn("nr", 1, "nr"), scalar("alpha", 1.25), in("a", "1", "k", ""),
			in("b", "panels", "k*nr", "panel").of(elem), Stride("panel"),
			scalar("beta", 0, 1, -0.5), accumulator("c", "panels", "nr", "ldc"), Stride("ldc"), hint("ahead", "0", "64", "4*k*nr")},
		Close: sums,
		On:    on,
		Body:  body,
	}
}

// rowsBetween returns the number of rows of a matrix whose columns have every length.
func rowsBetween(name string) Size { return Size{Name: name, Values: []Expr{"1", "2", "3"}} }

// partKernels process parts of matrices for products.
var partKernels = []Kernel{
	{
		File: "gemm_rows", Source: "gemm_rows.go", Name: "copyRows",
		Doc: []string{"computes dst[i*lddst+j] = x[i*ldx+j] for i < rows and j < cols."},
		Params: []Param{out("dst", "rows", "cols", "lddst"), in("x", "rows", "cols", "ldx"),
			rowsBetween("rows"), lengths("cols", 1, "rowLengths"), Stride("lddst"), Stride("ldx")},
		Close: Closeness{Exact: true},
		Body:  kernel.CopyRows,
	},
	{
		File: "gemm_rows", Source: "gemm_rows.go", Name: "addRows",
		Doc: []string{"computes dst[i*lddst+j] += x[i*ldx+j] for i < rows and j < cols."},
		Params: []Param{update("dst", "rows", "cols", "lddst").or("x"), in("x", "rows", "cols", "ldx").orOneRow(),
			rowsBetween("rows"), lengths("cols", 1, "rowLengths"), Stride("lddst"), Stride("ldx")},
		Close: Closeness{Exact: true},
		Body:  kernel.AddRows,
	},
	{
		File: "gemm_rows", Source: "gemm_rows.go", Name: "transposeRows",
		Doc: []string{
			"computes dst[j*lddst+i] = x[i*ldx+j] for i < rows and j < cols, both multiples of 8.",
		},
		Sizes: []Size{turn("side", 0, "max(4, min(width, 8))")},
		Params: []Param{out("dst", "cols", "rows", "lddst"), in("x", "rows", "cols", "ldx"),
			each("rows", 0, "0", "side", "2*side", "3*side", "4*side"),
			each("cols", 0, "0", "side", "2*side", "3*side", "4*side", "5*side"), Stride("lddst"), Stride("ldx")},
		Close: Closeness{Exact: true},
		Body:  kernel.TransposeRows,
	},
	finish("finishIdentity", "", kernel.Identity),
	finish("finishReLU", "ReLU", kernel.ReLU),
	finish("finishGELU", "GELU", kernel.GELU),
	finish("finishGELUTanh", "GELUTanh", kernel.GELUTanh),
	finish("finishSiLU", "SiLU", kernel.SiLU),
}

// finish returns the epilogue of a product with an activation.
func finish(name, function string, u kernel.Unary) Kernel {
	return Kernel{File: "gemm_rows", Source: "gemm_rows.go", Name: name,
		Doc: []string{
			"computes dst[i*lddst+j] = " + function + "(x[i*cols+j] + bias[j]) + residual[i*ldresidual+j]",
			"for i < rows and j < cols, which is the tier's NR.",
		},
		Params: []Param{
			out("dst", "rows", "cols", "lddst").or("residual"), in("x", "rows", "cols", ""), in("bias", "1", "cols", ""),
			in("residual", "rows", "cols", "ldresidual").orOneRow(),
			each("rows", 0, "0", "1", "2", "3", "4", "5", "6"), turn("cols", 1, "nr"), Stride("lddst"), Stride("ldresidual"),
		},
		Close: Closeness{Sums: 2},
		Body:  kernel.Finish(u)}
}
