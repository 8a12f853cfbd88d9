// Package asm is the catalog of avoformer's generated kernels: every assembly
// file, declaration and dispatch switch in package kernels comes from it, by
// way of cmd/kernelgen.
package asm

import (
	"github.com/avoformer/avoformer/asm/kernel"
	"github.com/avoformer/avoformer/asm/vec"
)

// Tier is an instruction set that kernels are generated for.
type Tier struct {
	Name     string // suffix of the symbols, and the name of the kernels.ISA constant
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
}

// Kernel is one operation of the catalog.
type Kernel struct {
	File      string // the kernels/ file, without tier and architecture
	Source    string // the file of asm/kernel that it comes from
	Name      string // the dispatching function; tiers and Generic are suffixes
	Signature string // Go function type; parameters of builtin types only
	// ByISA is set where the caller chooses the tier: the dispatching function
	// takes it as its first argument instead of looking at the active one.
	ByISA bool
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
		File: "gemm", Source: "gemm_*.go", Name: "gemmPanel", ByISA: true,
		Signature: "func(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int)",
		Doc: []string{
			"computes one panel of C, at most the tier's NR columns wide:",
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
		},
		Emit: func(t Tier, m vec.Machine) { kernel.GemmPanel(t.Gemm)(m) },
	},
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
		File: "layernorm", Source: "layernorm.go", Name: "layerNormRows",
		Signature: "func(dst, x, weight, bias []float32, rows, cols int, eps, invCols float32)",
		Doc: []string{
			"computes dst[r,c] = (x[r,c]-mean_r)/sqrt(var_r+eps)*weight[c] + bias[c]",
			"for contiguous rows; invCols is 1/cols. cols >= 1; dst may be x itself.",
		},
		Emit: row(kernel.LayerNormRows),
	},
	{File: "exp", Source: "exp.go", Name: "expVec", Signature: unarySig,
		Doc:  []string{"computes dst[i] = exp(x[i]) for every i of dst. dst may be x itself."},
		Emit: row(kernel.Exp)},
	{File: "elementwise", Source: "elementwise.go", Name: "reluVec", Signature: unarySig,
		Doc:  []string{"computes dst[i] = max(x[i], 0) for every i of dst; a NaN stays. dst may be x itself."},
		Emit: row(kernel.ReLU)},
	{File: "elementwise", Source: "elementwise.go", Name: "addVec", Signature: "func(dst, a, b []float32)",
		Doc:  []string{"computes dst[i] = a[i] + b[i] for every i of dst. dst may be a or b itself."},
		Emit: row(kernel.Add)},
	{File: "elementwise", Source: "elementwise.go", Name: "mulVec", Signature: "func(dst, a, b []float32)",
		Doc:  []string{"computes dst[i] = a[i] * b[i] for every i of dst. dst may be a or b itself."},
		Emit: row(kernel.Mul)},
}
