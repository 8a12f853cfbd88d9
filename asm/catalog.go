// Package asm is the catalog of avoformer's generated kernels: every assembly
// file, declaration and dispatch switch in package kernels/internal/simd comes from it, by
// way of cmd/kernelgen.
package asm

import (
	"github.com/avoformer/avoformer/asm/kernel"
	"github.com/avoformer/avoformer/asm/vec"
)

// Tier is an instruction set that kernels are generated for.
type Tier struct {
	Name     string // suffix of the symbols, and the name of the simd.ISA constant
	File     string // part of the file name
	Arch     string // GOARCH
	Width    int    // float32 lanes of a vector
	Features []string
	Gemm     kernel.GemmTile
}

// Tiers is ordered best first within an architecture.
var Tiers = []Tier{
	{Name: "AVX512", File: "avx512", Arch: "amd64", Width: 16,
		Features: []string{"AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL", "AVX2", "AVX", "FMA3", "BMI2"},
		Gemm:     kernel.GemmTile{MR: 14, NR: 32}},
	{Name: "AVX2", File: "avx2", Arch: "amd64", Width: 8,
		Features: []string{"AVX2", "AVX", "FMA3"},
		Gemm:     kernel.GemmTile{MR: 6, NR: 16}},
	{Name: "NEON", File: "neon", Arch: "arm64", Width: 4,
		Gemm: kernel.GemmTile{MR: 6, NR: 16}},
}

// Kernel is one operation of the catalog.
type Kernel struct {
	File      string // the file of package simd, without tier and architecture
	Source    string // the file of asm/kernel that it comes from
	Name      string // the dispatching function; tiers and Generic are suffixes
	Signature string // Go function type; parameters of builtin types only
	// Doc says what the kernel computes, its preconditions and what may alias.
	Doc []string
	// Emit writes the body for one tier.
	Emit func(t Tier, m vec.Machine)
}

// row adapts a kernel that is the same for every tier.
func row(f func(vec.Machine)) func(Tier, vec.Machine) {
	return func(_ Tier, m vec.Machine) { f(m) }
}

const unarySig = "func(dst, x []float32)"

// Catalog is every generated kernel.
var Catalog = []Kernel{
	{
		File: "gemm", Source: "gemm_*.go", Name: "gemmPanel",
		Signature: "func(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb, next, pace int, beta float32, c []float32, ldc int)",
		Doc: []string{
			"computes one panel of C, at most the tier's NR columns wide, or just twice as wide:",
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
			"C is not read when beta is 0. m >= 0, n >= 1, k >= 0; c overlaps neither a nor b.",
			"",
			"next and pace change nothing but the time: if next is not 0, a panel begins so many elements",
			"from b that is used next, and may be fetched into the cache, if it is contiguous by every tile",
			"of rows in turn, pace bytes for each step of k, and if its rows are ldb apart, where pace is 0,",
			"by the last one. Only x86 does.",
		},
		Emit: func(t Tier, m vec.Machine) { kernel.GemmPanel(t.Gemm)(m) },
	},
	{
		File: "gemm", Source: "gemm_*.go", Name: "gemmPack",
		Signature: "func(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, dst []float32, beta float32, c []float32, ldc int)",
		Doc: []string{
			"is gemmPanel for a whole tile, m = MR and n = NR, that packs the panel on its way:",
			"",
			"\tfor p := range k {",
			"\t\tfor j := range n {",
			"\t\t\tdst[p*n+j] = b[p*ldb+j]",
			"\t\t}",
			"\t}",
			"",
			"dst overlaps none of the others.",
		},
		Emit: func(t Tier, m vec.Machine) { kernel.GemmPack(t.Gemm)(m) },
	},
	{
		File: "gemm_dot", Source: "gemm_dot.go", Name: "gemmDot",
		Signature: "func(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, c []float32, ldc int)",
		Doc: []string{
			"computes C = alpha*A*B^T, B being n x k:",
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
			"Each lane of a vector has its own partial sums. C is not read and overlaps",
			"neither a nor b.",
		},
		Emit: row(kernel.GemmDot),
	},
	{
		File: "gemv", Source: "gemv.go", Name: "gemvPanels",
		Signature: "func(c, a, b []float32, nr int)",
		Doc: []string{
			"multiplies the vector a with panels of nr columns, the tier's NR:",
			"",
			"\tfor j := range c {",
			"\t\tpanel := b[j/nr*len(a)*nr:]",
			"\t\tc[j] = 0",
			"\t\tfor p := range a {",
			"\t\t\tc[j] += a[p] * panel[p*nr+j%nr]",
			"\t\t}",
			"\t}",
			"",
			"len(c) is a multiple of nr; c overlaps neither a nor b.",
		},
		Emit: func(t Tier, m vec.Machine) { kernel.GemvPanels(t.Gemm.NR)(m) },
	},
	{
		File: "gemv", Source: "gemv.go", Name: "gemvRows",
		Signature: "func(c, a, b []float32, ldb, ahead int)",
		Doc: []string{
			"computes c[j] += a[p]*b[p*ldb+j] for every p of a, in order, and every j of c,",
			"which overlaps neither a nor b. If ahead is over 0, what lies ahead elements",
			"further is fetched into the second-level cache on the way.",
		},
		Emit: row(kernel.GemvRows),
	},
	{
		File: "gemv", Source: "gemv.go", Name: "gemvDot",
		Signature: "func(alpha float32, c, a, b []float32, ldb, ahead int)",
		Doc: []string{
			"computes c[j] = alpha * sum_p a[p]*b[j*ldb+p] for every j of c, which overlaps",
			"neither a nor b. For ahead as in gemvRows, several rows go together.",
		},
		Emit: row(kernel.GemvDot),
	},
	{
		File: "gemm_rows", Source: "gemm_rows.go", Name: "copyRows",
		Signature: "func(dst, x []float32, rows, cols, lddst, ldx int)",
		Doc: []string{
			"computes dst[i*lddst+j] = x[i*ldx+j] for i < rows and j < cols.",
			"dst and x do not overlap.",
		},
		Emit: row(kernel.CopyRows),
	},
	{
		File: "gemm_rows", Source: "gemm_rows.go", Name: "addRows",
		Signature: "func(dst, x []float32, rows, cols, lddst, ldx int)",
		Doc: []string{
			"computes dst[i*lddst+j] += x[i*ldx+j] for i < rows and j < cols.",
			"dst may be x itself; ldx = 0 adds one row to all.",
		},
		Emit: row(kernel.AddRows),
	},
	{
		File: "gemm_rows", Source: "gemm_rows.go", Name: "transposeRows",
		Signature: "func(dst, x []float32, rows, cols, lddst, ldx int)",
		Doc: []string{
			"computes dst[j*lddst+i] = x[i*ldx+j] for i < rows and j < cols, both",
			"multiples of 8. dst and x do not overlap.",
		},
		Emit: row(kernel.TransposeRows),
	},
	finish("finishIdentity", "", kernel.Identity),
	finish("finishReLU", "ReLU", kernel.ReLU),
	finish("finishGELU", "GELU", kernel.GELU),
	finish("finishGELUTanh", "GELUTanh", kernel.GELUTanh),
	finish("finishSiLU", "SiLU", kernel.SiLU),
	{
		File: "softmax", Source: "softmax.go", Name: "softmaxRows",
		Signature: "func(dst, x []float32, rows, cols int)",
		Doc: []string{
			"computes dst[r,c] = exp(x[r,c]-max_r) / sum_c exp(x[r,c]-max_r)",
			"for contiguous rows. cols >= 1; dst may be x itself.",
		},
		Emit: row(kernel.SoftmaxRows),
	},
	{
		File: "softmax", Source: "softmax.go", Name: "softmaxRowsStream",
		Signature: "func(dst, x, tmp []float32, rows, cols int)",
		Doc: []string{
			"is softmaxRows for what is in memory and not in a cache. It leaves something in",
			"tmp, which has cols elements; dst may be x itself.",
		},
		Emit: row(kernel.SoftmaxRowsStream),
	},
	{
		File: "softmax", Source: "softmax.go", Name: "expSumRows",
		Signature: "func(dst, x, max, sum []float32, rows, cols int)",
		Doc: []string{
			"computes for each of the contiguous rows max[r] = the maximum of x[r,:], but at",
			"least the least finite number, dst[r,c] = s*exp(x[r,c]-max[r]) and sum[r], which",
			"they add up to; s is a constant within 2^-23 of 1. cols >= 1; dst may be x itself.",
		},
		Emit: row(kernel.ExpSumRows),
	},
	{
		File: "softmax", Source: "softmax.go", Name: "maxVec",
		Signature: "func(x []float32) float32",
		Doc:       []string{"returns the maximum of x, -Inf if x is empty. It may miss a NaN."},
		Emit:      row(kernel.MaxVec),
	},
	{
		File: "softmax", Source: "softmax.go", Name: "sumExpVec",
		Signature: "func(x []float32, max float32) float32",
		Doc:       []string{"returns the sum of exp(x[i]-max) over x, of which no element is above max."},
		Emit:      row(kernel.SumExpVec),
	},
	{
		File: "layernorm", Source: "layernorm.go", Name: "layerNormRows",
		Signature: "func(dst, x, weight, bias []float32, rows, cols int, eps float32)",
		Doc: []string{
			"computes dst[r,c] = (x[r,c]-mean_r)/sqrt(var_r+eps)*weight[c] + bias[c]",
			"for contiguous rows. cols >= 1; dst may be x itself.",
		},
		Emit: row(kernel.LayerNormRows),
	},
	{
		File: "layernorm", Source: "layernorm.go", Name: "layerNormRowsStream",
		Signature: "func(dst, x, weight, bias []float32, rows, cols int, eps float32)",
		Doc: []string{
			"is layerNormRows for what is in memory and not in a cache.",
		},
		Emit: row(kernel.LayerNormRowsStream),
	},
	{
		File: "layernorm", Source: "layernorm.go", Name: "addLayerNormRows",
		Signature: "func(dst, sum, x, residual, weight, bias []float32, rows, cols int, eps float32)",
		Doc: []string{
			"computes sum[r,c] = x[r,c] + residual[r,c], then layerNormRows of sum to dst.",
			"dst, sum, x and residual may be the same.",
		},
		Emit: row(kernel.AddLayerNormRows),
	},
	{
		File: "layernorm", Source: "layernorm.go", Name: "rmsNormRows",
		Signature: "func(dst, x, weight []float32, rows, cols int, eps float32)",
		Doc: []string{
			"computes dst[r,c] = x[r,c]/sqrt(mean_c(x[r,c]^2)+eps)*weight[c] for contiguous",
			"rows. cols >= 1; dst may be x itself.",
		},
		Emit: row(kernel.RMSNormRows),
	},
	{
		File: "attention", Source: "attention.go", Name: "attnSoftmax",
		Signature: "func(s []float32, rows, cols, ld int, max, sum, factor []float32)",
		Doc: []string{
			"takes a tile of scores, rows ld apart, into an online softmax:",
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
			"where exp of -Inf minus -Inf is 0. cols >= 1.",
		},
		Emit: row(kernel.AttnSoftmax),
	},
	{
		File: "attention", Source: "attention.go", Name: "attnScaleRows",
		Signature: "func(x []float32, rows, cols, ld int, factor []float32)",
		Doc:       []string{"computes x[r*ld+c] *= factor[r] for r < rows and c < cols."},
		Emit:      row(kernel.AttnScaleRows),
	},
	{
		File: "attention", Source: "attention.go", Name: "attnDot",
		Signature: "func(rows, n, dim int, alpha float32, q []float32, ldq int, k []float32, ldk int, s []float32, lds int)",
		Doc: []string{
			"computes s[i*lds+j] = alpha * sum_d q[i*ldq+d]*k[j*ldk+d]",
			"for i < rows, j < n and d < dim.",
		},
		Emit: row(kernel.AttnDot),
	},
	{
		File: "attention", Source: "attention.go", Name: "attnShort",
		Signature: "func(rows, n, dim int, alpha float32, q []float32, ldq int, k []float32, ldk int, bias []float32, ldb int, s []float32, weight float32, cols int, v []float32, ldv int, o []float32, ldo int)",
		Doc: []string{
			"is attention of one head with at most 64 queries and keys:",
			"",
			"\tfor r := range rows {",
			"\t\tfor j := range n {",
			"\t\t\tscore[j] = alpha * sum_d q[r*ldq+d]*k[j*ldk+d] + bias[j*ldb+r]",
			"\t\t}",
			"\t\tp := weight * softmax(score)",
			"\t\tfor c := range cols {",
			"\t\t\to[r*ldo+c] = sum_j p[j]*v[j*ldv+c]",
			"\t\t}",
			"\t}",
			"",
			"The rows of bias have 64 elements, of which those from the number of rows on do",
			"not matter. A bias of -Inf hides the key, whatever the product; a query that sees",
			"none has zeros. There is no bias where that is empty. s is memory for 69 rows of",
			"64 elements. n >= 1; s and o overlap nothing else.",
		},
		Emit: row(kernel.AttnShort),
	},
	{
		File: "attention", Source: "attention.go", Name: "attnFew",
		Signature: "func(rows, n, dim int, alpha float32, q []float32, ldq int, k []float32, ldk int, bias []float32, ldb int, s []float32, weight float32, cols int, v []float32, ldv int, o []float32, ldo int)",
		Doc: []string{
			"is attnShort for fewer queries and up to 256 keys, or one query and any number, with",
			"bias[r*ldb+j] for bias[j*ldb+r]. The rows of bias, which is not empty, have n elements,",
			"rounded up to a multiple of 16, and -Inf from the n-th on. s has a row of 272 elements",
			"for each query, or of n+1, rounded up in the same way, for a single one.",
		},
		Emit: row(kernel.AttnFew),
	},
	{
		File: "attention", Source: "attention.go", Name: "attnAccumulate",
		Signature: "func(o, p, v []float32, ldv int)",
		Doc:       []string{"computes o[c] += sum_j p[j]*v[j*ldv+c] for every c of o and j of p."},
		Emit:      row(kernel.AttnAccumulate),
	},
	unary("exp", "expVec", "exp(x[i])", kernel.Exp),
	unary("exp", "geluVec", "x[i]*Phi(x[i]), the erf form of GELU,", kernel.GELU),
	unary("exp", "geluTanhVec", "x[i]*(1+tanh(sqrt(2/pi)*(x[i]+0.044715*x[i]^3)))/2", kernel.GELUTanh),
	unary("exp", "siluVec", "x[i]/(1+exp(-x[i]))", kernel.SiLU),
	unary("exp", "sigmoidVec", "1/(1+exp(-x[i]))", kernel.Sigmoid),
	unary("exp", "tanhVec", "tanh(x[i])", kernel.Tanh),
	unary("exp", "erfVec", "erf(x[i])", kernel.Erf),
	unary("elementwise", "reluVec", "max(x[i], 0), or x[i] where that is NaN,", kernel.ReLU),
	{File: "elementwise", Source: "elementwise.go", Name: "addVec", Signature: "func(dst, a, b []float32)",
		Doc:  []string{"computes dst[i] = a[i] + b[i] for every i of dst. dst may be a or b itself."},
		Emit: row(kernel.Add)},
	{File: "elementwise", Source: "elementwise.go", Name: "mulVec", Signature: "func(dst, a, b []float32)",
		Doc:  []string{"computes dst[i] = a[i] * b[i] for every i of dst. dst may be a or b itself."},
		Emit: row(kernel.Mul)},
	{File: "elementwise", Source: "elementwise.go", Name: "scaleVec", Signature: "func(dst, x []float32, alpha float32)",
		Doc:  []string{"computes dst[i] = alpha*x[i] for every i of x. dst may be x itself."},
		Emit: row(kernel.ScaleVec)},
	{File: "elementwise", Source: "elementwise.go", Name: "subSubVec", Signature: "func(dst, x []float32, a, b float32)",
		Doc:  []string{"computes dst[i] = (x[i]-a)-b for every i of x. dst may be x itself."},
		Emit: row(kernel.SubSubVec)},
	{File: "elementwise", Source: "elementwise.go", Name: "axpyVec", Signature: "func(y, x []float32, alpha float32)",
		Doc:  []string{"computes y[i] += alpha*x[i] for every i of x. y may be x itself."},
		Emit: row(kernel.AXPYVec)},
}

// unary is a kernel of one input, element by element.
func unary(file, name, value string, u kernel.Unary) Kernel {
	return Kernel{File: file, Source: file + ".go", Name: name, Signature: unarySig,
		Doc:  []string{"computes dst[i] = " + value + " for every i of dst. dst may be x itself."},
		Emit: row(u.Emit)}
}

// finish is the epilogue of a product with an activation.
func finish(name, function string, u kernel.Unary) Kernel {
	return Kernel{File: "gemm_rows", Source: "gemm_rows.go", Name: name,
		Signature: "func(dst, x, bias, residual []float32, rows, cols, lddst, ldresidual int)",
		Doc: []string{
			"computes dst[i*lddst+j] = " + function + "(x[i*cols+j] + bias[j]) + residual[i*ldresidual+j]",
			"for i < rows and j < cols, which is the tier's NR. residual may be dst itself.",
		},
		Emit: func(t Tier, m vec.Machine) { kernel.Finish(u, t.Gemm.NR)(m) }}
}
