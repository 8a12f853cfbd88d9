package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has values of a head as words, for products with weights of attention as words. Each
// column has one scale.

// wordStep divides the number of keys in a product of words, after padding with zeros.
const wordStep = 16

// Values holds values of a head as panels of columns, two keys side by side.
type Values struct {
	keys, dim int
	words     []int16
	scale     []float32
	weights   []int16 // of the rows that are multiplied
}

// Pack converts n values to words. Values are rows of dim elements, ldx apart. Pack divides their
// scales by the scale of weights.
func (v *Values) Pack(f *Record, x []float32, ldx, n, dim int) {
	v.keys, v.dim = fillWords(n), dim
	v.words, v.scale = mem.Grow(v.words, v.keys*dim), mem.Grow(v.scale, dim)
	simd.WordColumns(f.ISA, v.words, v.scale, x, n, dim, v.keys, ldx, f.NR)
	for i := range v.scale {
		v.scale[i] *= 1.0 / (1 << simd.WeightBits)
	}
}

func fillWords(n int) int { return (n + wordStep - 1) / wordStep * wordStep }

// Multiply sets o, [m, dim] with rows ldo apart, to o*beta plus the product of the weights s, [m,
// n] with rows lds apart, and the first n packed values. beta is 0 or 1.
func (v *Values) Multiply(f *Record, s []float32, lds, m, n int, beta float32, o []float32, ldo int) {
	filled := fillWords(n)
	v.weights = mem.Grow(v.weights, m*filled)
	simd.RoundWords(f.ISA, v.weights, s, 1<<simd.WeightBits, m, n, filled, filled, lds)
	for j := 0; j < v.dim; j += f.NR {
		simd.WordPanel(f.ISA, m, filled, f.NR, v.weights, filled, v.words[j*v.keys:], v.scale[j:], int(beta), o[j:], ldo)
	}
}
