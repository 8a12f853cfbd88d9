package row

import "github.com/avoformer/avoformer/kernels/internal/simd"

// This file has functions that work element by element. Threads share them as functions of rows of
// one element.

// These are the kernels' dispatching functions, and the arguments of a call of each kind.
type (
	unaryKernel  func(isa simd.ISA, dst, x []float32)
	binaryKernel func(isa simd.ISA, dst, x, y []float32)
	scaledKernel func(isa simd.ISA, dst, x []float32, alpha float32)

	unary struct {
		run    unaryKernel
		isa    simd.ISA
		budget budget
		dst, x []float32
	}
	binary struct {
		run       binaryKernel
		isa       simd.ISA
		budget    budget
		dst, x, y []float32
	}
	scaled struct {
		run    scaledKernel
		isa    simd.ISA
		budget budget
		alpha  float32
		dst, x []float32
	}
)

var (
	unaries  tasks[unary]
	binaries tasks[binary]
	scaleds  tasks[scaled]
)

// Unary computes a function of one input with run, which dispatches the kernel k. Most calls are
// one piece. Cutting a call into pieces takes the same time as 32 elements.
func Unary(t int, run unaryKernel, k simd.Kernel, dst, x []float32) {
	isa := simd.Active()
	b := BudgetOf(k, isa)
	switch {
	case !alone(t, len(x), len(x)):
		unaries.split(t, len(x), 1, &unary{run, isa, b, dst, x}, func(a *unary, i, j int) {
			unaryPieces(a.run, a.isa, a.budget, a.dst[i:j], a.x[i:j])
		})
	case len(x) <= int(b):
		run(isa, dst, x)
	default:
		unaryPieces(run, isa, b, dst, x)
	}
}

// Binary computes a function of two inputs.
func Binary(t int, run binaryKernel, k simd.Kernel, dst, x, y []float32) {
	isa := simd.Active()
	b := BudgetOf(k, isa)
	switch {
	case !alone(t, len(x), len(x)):
		binaries.split(t, len(x), 1, &binary{run, isa, b, dst, x, y}, func(a *binary, i, j int) {
			binaryPieces(a.run, a.isa, a.budget, a.dst[i:j], a.x[i:j], a.y[i:j])
		})
	case len(x) <= int(b):
		run(isa, dst, x, y)
	default:
		binaryPieces(run, isa, b, dst, x, y)
	}
}

// Scaled computes a function of one input and a factor.
func Scaled(t int, run scaledKernel, k simd.Kernel, alpha float32, dst, x []float32) {
	isa := simd.Active()
	b := BudgetOf(k, isa)
	switch {
	case !alone(t, len(x), len(x)):
		scaleds.split(t, len(x), 1, &scaled{run, isa, b, alpha, dst, x}, func(a *scaled, i, j int) {
			scaledPieces(a.run, a.isa, a.budget, a.alpha, a.dst[i:j], a.x[i:j])
		})
	case len(x) <= int(b):
		run(isa, dst, x, alpha)
	default:
		scaledPieces(run, isa, b, alpha, dst, x)
	}
}

// unaryPieces, binaryPieces and scaledPieces call a kernel piece by piece.

func unaryPieces(run unaryKernel, isa simd.ISA, b budget, dst, x []float32) {
	for i, end := range b.pieces(len(x)) {
		run(isa, dst[i:end], x[i:end])
	}
}

func binaryPieces(run binaryKernel, isa simd.ISA, b budget, dst, x, y []float32) {
	for i, end := range b.pieces(len(x)) {
		run(isa, dst[i:end], x[i:end], y[i:end])
	}
}

func scaledPieces(run scaledKernel, isa simd.ISA, b budget, alpha float32, dst, x []float32) {
	for i, end := range b.pieces(len(x)) {
		run(isa, dst[i:end], x[i:end], alpha)
	}
}
