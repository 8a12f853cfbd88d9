package weights

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file converts float32 to blocks.

// The bytes of q8_0, q4_0, q4_1, q5_0 and q5_1 are those of llama.cpp, so that hashes of files can
// be compared: ggml-quants.c defines the order of the roundings. Each operation rounds to float32.

// quantizeQ8_0 scales by the largest magnitude divided by 127, and rounds halves away from zero.
func quantizeQ8_0(c *quantizer, x []float32) {
	extreme, nan := extremeOf(x)
	scale := float32(math.Abs(float64(extreme)))/127 + nan
	c.d = half.ToFloat16(scale)
	inverse := reciprocal(scale)
	if !finite(inverse) {
		fill(c, x, 128)
		return
	}
	q := c.q[:len(x)]
	for p, v := range x {
		v = float32(v * inverse)
		n := int32(v + v) // halves
		q[p] = byte((n+n>>31+1)>>1) ^ 128
	}
}

// quantizeQ4_0 and quantizeQ5_0 scale by the number of the largest magnitude divided by -8 or -16.
// That number is exact for either sign. The scale of zeros is -0.
func quantizeQ4_0(c *quantizer, x []float32) { quantizeAround(c, x, 8, &sweepQ4_0) }
func quantizeQ5_0(c *quantizer, x []float32) { quantizeAround(c, x, 16, &sweepQ5_0) }

var (
	sweepQ4_0, sweepQ5_0 = newSweep(7.1, 9), newSweep(15.1, 17)
	sweepQ4_1, sweepQ5_1 = newSweep(14.1, 15.9), newSweep(30.1, 31.9)
)

func quantizeAround(c *quantizer, x []float32, zero float32, to *sweep) {
	extreme, nan := extremeOf(x)
	if c.importance != nil && extreme != 0 && nan == 0 {
		fitAround(c, x, zero, to)
		return
	}
	scale := extreme / -zero
	if nan != 0 {
		scale = nan
	}
	c.d = half.ToFloat16(scale)
	inverse := reciprocal(scale)
	if !finite(inverse) {
		fill(c, x, 0)
		return
	}
	q, most := c.q[:len(x)], int32(2*zero-1)
	for p, v := range x {
		q[p] = byte(min(int32(float32(v*inverse)+(zero+0.5)), most))
	}
}

// quantizeQ4_1 and quantizeQ5_1 subtract the minimum, and scale by the range divided by 15 or 31.
func quantizeQ4_1(c *quantizer, x []float32) { quantizeAbove(c, x, 15, &sweepQ4_1) }
func quantizeQ5_1(c *quantizer, x []float32) { quantizeAbove(c, x, 31, &sweepQ5_1) }

func quantizeAbove(c *quantizer, x []float32, levels float32, to *sweep) {
	low, high, nan := endsOf(x)
	if c.importance != nil && nan == 0 {
		fitAboveLeast(c, x, levels, to)
		return
	}
	scale := (high-low)/levels + nan
	c.d, c.dmin = half.ToFloat16(scale), half.ToFloat16(-low)
	inverse := reciprocal(scale)
	if !finite(inverse) || !finite(scale) {
		fill(c, x, 0)
		return
	}
	q := c.q[:len(x)]
	for p, v := range x {
		q[p] = byte(int32(float32((v-low)*inverse) + 0.5))
	}
}

// endsOf returns the smallest and the largest number; of two zeros it returns the first. nan is NaN
// if x has a NaN or an infinity, and otherwise 0.
func endsOf(x []float32) (low, high, nan float32) {
	least, most := orderedEnds(x)
	low, high = inOrder(least), inOrder(most)
	nan = low - low + high - high
	if low == 0 || high == 0 {
		for _, v := range slices.Backward(x) {
			if v == 0 && low == 0 {
				low = v
			}
			if v == 0 && high == 0 {
				high = v
			}
		}
	}
	return low, high, nan
}

// fitAround and fitAboveLeast are the quantizers of q4_0 and q5_0, and of q4_1 and q5_1, for
// elements with weights of importance.
func fitAround(c *quantizer, x []float32, zero float32, to *sweep) {
	groups, _, _ := c.setGroups(x, len(x), true)
	g := &groups[0]
	d := nearest16(c.search.fit(g, -zero, zero-1, to) * g.unit)
	c.d = half.ToFloat16(float32(d))
	if !math.IsInf(d, 0) {
		g.round(c.q[:], d/g.unit, 0, int32(-zero), int32(zero-1))
	}
}

func fitAboveLeast(c *quantizer, x []float32, high float32, to *sweep) {
	groups, _, _ := c.setGroups(x, len(x), true)
	g := &groups[0]
	step, depth := c.search.fitAbove(g, high, to, true)
	d := nearest16(step * g.unit)
	dmin := float64(half.Float16(half.ToFloat16(float32(depth * g.unit))))
	c.d, c.dmin = half.ToFloat16(float32(d)), half.ToFloat16(float32(dmin))
	if d > 0 && !math.IsInf(d, 0) && !math.IsInf(dmin, 0) {
		g.round(c.q[:], d/g.unit, dmin/g.unit, 0, int32(high))
	}
}

// quantizeMXFP4 scales by the power of 2 that makes the largest magnitude less than 8, and rounds
// to the nearest numbers. The format has no NaN: in a block with a NaN or an infinity all elements
// become infinite.
func quantizeMXFP4(c *quantizer, x []float32) {
	extreme, nan := extremeOf(x)
	if nan != 0 {
		c.d = 255
		for p := range x {
			c.q[p] = 7
		}
		return
	}
	if extreme != 0 {
		c.d = uint16(clampRound(float32(math.Ilogb(float64(extreme))-2+127), 0, 255))
	}
	d := float64(simd.PowerOf2(byte(c.d)))
	for p, v := range x {
		nearest := math.Inf(1)
		for code, number := range simd.NumbersOf[simd.E2M1] {
			if off := math.Abs(d*float64(int(number)-16) - float64(v)); off < nearest {
				nearest, c.q[p] = off, byte(code)
			}
		}
	}
}

// extremeOf returns the first of the numbers of the largest magnitude. nan is NaN if x has a NaN or
// an infinity, and otherwise 0.
func extremeOf(x []float32) (extreme, nan float32) {
	positive, negative := outermost(x)
	switch magnitude := negative &^ (1 << 31); {
	case magnitude < positive:
		extreme = math.Float32frombits(positive)
	case magnitude > positive:
		extreme = math.Float32frombits(negative)
	default:
		first := slices.IndexFunc(x, func(v float32) bool { return math.Float32bits(v)&^(1<<31) == magnitude })
		extreme = x[first]
	}
	if nan = extreme - extreme; extreme == 0 {
		extreme = 0 // not -0
	}
	return extreme, nan
}

// reciprocal returns 1/x, or 0 for 0.
func reciprocal[F float32 | float64](x F) F {
	if x == 0 {
		return 0
	}
	return 1 / x
}

// finite reports whether x is neither NaN nor an infinity.
func finite(x float32) bool { return x-x == 0 }

// fill sets the integers of a block that has no scale or whose scale has no reciprocal.
func fill(c *quantizer, x []float32, q byte) {
	for p := range x {
		c.q[p] = q
	}
}

// clampRound returns the integer nearest to x, limited to [low, high], and low for NaN.
func clampRound(x float32, low, high int) int {
	if !(x > float32(low)) {
		return low
	}
	return int(math.RoundToEven(float64(min(x, float32(high)))))
}

// nearest16 rounds to binary16, but rounds no number to zero.
func nearest16(x float64) float64 {
	v := float64(half.Float16(half.ToFloat16(float32(x))))
	if v == 0 && x != 0 {
		v = math.Copysign(0x1p-24, x)
	}
	return v
}
