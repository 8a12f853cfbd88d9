// Package kernel holds the algorithms of package kernels, each written once.
//
// Row kernels are functions over a vec.Machine, the same source for every
// instruction set. The GEMM micro-kernels are written for each machine against
// one contract.
package kernel

import (
	"math"

	"github.com/avoformer/avoformer/asm/vec"
)

// f32 is the constant nearest to v.
func f32(v float64) vec.Const { return vec.Const(math.Float32bits(float32(v))) }

var (
	negInf  = f32(math.Inf(-1))
	signBit = vec.Const(0x80000000)
)

// Range reduction: x = n*ln2 + r, |r| <= ln2/2. ln2Hi has few enough bits that
// n*ln2Hi is exact.
var (
	log2e = f32(1.44269504088896341)
	ln2Hi = f32(0.693359375)
	ln2Lo = f32(-2.12194440e-4)
	expLo = f32(-104)
	expHi = f32(89)
	// exp(r) = 1 + r + r^2*(c[0] + c[1] r + …), relative error below 2^-25.
	expPoly = []vec.Const{f32(5.0000001201e-1), f32(1.6666665459e-1), f32(4.1665795894e-2),
		f32(8.3334519073e-3), f32(1.3981999507e-3), f32(1.9875691500e-4)}
)

// expReduced is exp of the reduced argument and the power of two that remains.
// x must be a fresh register; it is consumed.
func expReduced(m vec.Machine, x vec.V) (p vec.V, n vec.Rounded) {
	n = m.Round(m.Mul(x, log2e))
	m.FNMATo(x, n.N, ln2Hi)
	m.FNMATo(x, n.N, ln2Lo)
	p = m.Splat(expPoly[len(expPoly)-1])
	for i := len(expPoly) - 2; i >= 0; i-- {
		p = m.Horner(p, x, expPoly[i])
	}
	p = m.Horner(p, x, f32(1))
	p = m.Horner(p, x, f32(1))
	return p, n
}

// Exp is exp(x) over the whole range, denormal results included.
var Exp = unary(2, func(m vec.Machine) func(vec.V) vec.V {
	lo, hi := m.Splat(expLo), m.Splat(expHi)
	return func(x vec.V) vec.V {
		p, n := expReduced(m, m.Min(hi, m.Max(lo, x)))
		return m.ScaleByPow2Full(p, n)
	}
})
