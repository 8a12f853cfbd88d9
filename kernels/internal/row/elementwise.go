package row

import "github.com/avoformer/avoformer/kernels/internal/simd"

// Functions that work element by element.

// Unary computes a function of one input with the kernel k, which run calls. Most
// calls are of one piece; to go through pieces takes as long as 32 elements of them.
func Unary(t int, run unaryKernel, k simd.Kernel, dst, x []float32) {
	isa := simd.Active()
	b := BudgetOf(k, isa)
	switch {
	case !alone(t, len(x), len(x)):
		split(t, len(x), 1, &task{isa: isa, dst: dst, x: x, unary: run, budget: b, do: func(c *task, i, j int) {
			unaryPieces(c.unary, c.isa, c.budget, c.dst[i:j], c.x[i:j])
		}})
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
		split(t, len(x), 1, &task{isa: isa, dst: dst, x: x, y: y, binary: run, budget: b, do: func(c *task, i, j int) {
			binaryPieces(c.binary, c.isa, c.budget, c.dst[i:j], c.x[i:j], c.y[i:j])
		}})
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
		split(t, len(x), 1, &task{isa: isa, dst: dst, x: x, scaled: run, budget: b, alpha: alpha, do: func(c *task, i, j int) {
			scaledPieces(c.scaled, c.isa, c.budget, c.alpha, c.dst[i:j], c.x[i:j])
		}})
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
