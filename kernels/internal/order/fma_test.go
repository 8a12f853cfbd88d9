package order

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactFMA computes x*y + z with arbitrary precision.
func exactFMA(x, y, z float32) float32 {
	p := new(big.Float).SetPrec(600).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
	s := p.Add(p, big.NewFloat(float64(z)))
	f, _ := s.Float32()
	return f
}

// TestFMA compares FMA with arithmetic of arbitrary precision, where two roundings are likely to
// differ: for sums near the middle of two numbers, and for denormal sums.
func TestFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	twice := 0
	check := func(x, y, z float32) {
		t.Helper()
		for _, v := range []float32{x, y, z} {
			if v != v || math.IsInf(float64(v), 0) {
				return
			}
		}
		got, want := FMA(x, y, z), exactFMA(x, y, z)
		if got != want {
			t.Fatalf("FMA(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
		if want != float32(float64(x)*float64(y)+float64(z)) {
			twice++
		}
	}
	bits := func() float32 { return math.Float32frombits(r.Uint32()) }
	for range 100_000 {
		check(bits(), bits(), bits())
		// the sum of a number with 24 bits and something far below its half
		z := math.Float32frombits(r.Uint32()&0x7fffff | 0x3f800000)
		half := float32(math.Ldexp(1, -24))
		x := half * (1 + float32(r.IntN(3)-1)*0x1p-23)
		check(x, 1+float32(r.IntN(5)-2)*0x1p-23, z)
		check(-x, 1+float32(r.IntN(5)-2)*0x1p-23, z)
		// the same where results are denormal
		scale := float32(math.Ldexp(1, -127-r.IntN(22)))
		check(x*0x1p-60, (1+float32(r.IntN(5)-2)*0x1p-23)*0x1p-66, z*scale)
		check(math.Float32frombits(r.Uint32()&0x7fffff|0x20000000), math.Float32frombits(r.Uint32()&0x7fffff|0x1f000000-uint32(r.IntN(30))<<23), z*scale)
	}
	if twice < 100 {
		t.Errorf("%d sums that two roundings get wrong: too few to notice", twice)
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range [][4]float32{{inf, 1, 1, inf}, {inf, 0, 1, nan}, {inf, 1, -inf, nan}, {nan, 1, 1, nan}, {1, 1, nan, nan},
		{math.MaxFloat32, 2, -math.MaxFloat32, math.MaxFloat32}, {math.MaxFloat32, 2, 0, inf}, {1, -inf, 1, -inf}} {
		if got := FMA(c[0], c[1], c[2]); got != c[3] && (got == got || c[3] == c[3]) {
			t.Errorf("FMA(%v, %v, %v) = %v, want %v", c[0], c[1], c[2], got, c[3])
		}
	}
	if z := FMA(0, 1, float32(math.Copysign(0, -1))); math.Signbit(float64(z)) {
		t.Error("0*1 + -0 is not +0")
	}
}
