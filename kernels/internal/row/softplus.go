package row

import (
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// softplusElements is the number of elements whose exponentials are in a buffer at a time.
const softplusElements = 256

var softpluses tasks[unary]

// Softplus sets dst to log(1 + exp(x)).
func Softplus(t int, dst, x []float32) {
	a := unary{run: simd.ExpVec, isa: simd.Active(), budget: BudgetOf(simd.KernelExpVec, simd.Active()), dst: dst, x: x}
	if alone(t, len(x), 8*len(x)) {
		softplus(&a, 0, len(x))
		return
	}
	softpluses.split(t, len(x), 8, &a, softplus)
}

// softplus computes the elements [from, to). Exponentials and logarithms have the same bits on
// every machine.
func softplus(a *unary, from, to int) {
	var power [softplusElements]float32
	for i := from; i < to; i += softplusElements {
		x := a.x[i:min(i+softplusElements, to)]
		dst := a.dst[i:][:len(x)]
		unaryPieces(a.run, a.isa, a.budget, power[:len(x)], x)
		for j, v := range x {
			if v <= 20 {
				v = float32(elementary.Log1p(float64(power[j])))
			}
			dst[j] = v
		}
	}
}
