package weights

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Conversion of float32 to blocks.

// quantizeQ8_0 scales by the largest magnitude divided by 127.
func quantizeQ8_0(c *blockColumn, x []float32) {
	scale, inverse := simd.QuantizeBlock(x)
	c.d = half.ToFloat16(scale)
	for p, v := range x {
		c.q[p] = byte(simd.QuantizeOne(v, inverse)) ^ 128
	}
}

// quantizeQ4_0 and quantizeQ5_0 scale by the number of the largest magnitude divided by -8 or -16. That number is exact whatever
// its sign.
func quantizeQ4_0(c *blockColumn, x []float32) { quantizeAround(c, x, 8) }
func quantizeQ5_0(c *blockColumn, x []float32) { quantizeAround(c, x, 16) }

func quantizeAround(c *blockColumn, x []float32, zero float32) {
	extreme, nan := extremeOf(x)
	scale := extreme/-zero + nan
	c.d = half.ToFloat16(scale)
	inverse := reciprocal(scale)
	for p, v := range x {
		c.q[p] = byte(zero)
		if nan == 0 {
			c.q[p] = byte(min(float32(v*inverse)+zero+0.5, 2*zero-1))
		}
	}
}

// quantizeQ4_1 and quantizeQ5_1 subtract the minimum, and scale by the range divided by 15 or 31.
func quantizeQ4_1(c *blockColumn, x []float32) { quantizeAbove(c, x, 15) }
func quantizeQ5_1(c *blockColumn, x []float32) { quantizeAbove(c, x, 31) }

func quantizeAbove(c *blockColumn, x []float32, levels float32) {
	_, nan := extremeOf(x)
	low, high := slices.Min(x), slices.Max(x)
	scale := (high-low)/levels + nan
	c.d, c.dmin = half.ToFloat16(scale), half.ToFloat16(-low)
	inverse := reciprocal(scale)
	for p, v := range x {
		c.q[p] = byte(clampRound((v-low)*inverse, 0, int(levels)))
	}
}

// quantizeQ4_K and quantizeQ5_K do the same in each group. Minima are at most 0.
func quantizeQ4_K(c *blockColumn, x []float32) { quantizeGroups(c, x, 15) }
func quantizeQ5_K(c *blockColumn, x []float32) { quantizeGroups(c, x, 31) }

func quantizeGroups(c *blockColumn, x []float32, levels int) {
	const groups, size = 8, 32
	var steps, depths [groups]float32
	var step, depth float32 // largest values
	_, nan := extremeOf(x)
	for g := range groups {
		var low, high float32
		for _, v := range x[g*size:][:size] {
			low, high = min(low, v), max(high, v)
		}
		steps[g], depths[g] = (high-low)/float32(levels), -low
		step, depth = max(step, steps[g]), max(depth, depths[g])
	}
	c.d, c.dmin = half.ToFloat16(step/63+nan), half.ToFloat16(depth/63+nan)
	if nan != 0 {
		return
	}
	d, dmin := half.Float16(c.d), half.Float16(c.dmin)
	for g := range groups {
		c.scale[g] = uint8(clampRound(steps[g]*reciprocal(d), 0, 63))
		c.least[g] = uint8(clampRound(depths[g]*reciprocal(dmin), 0, 63))
		inverse, least := reciprocal(d*float32(c.scale[g])), dmin*float32(c.least[g])
		for p, v := range x[g*size:][:size] {
			c.q[g*size+p] = byte(clampRound((v+least)*inverse, 0, levels))
		}
	}
}

// quantizeQ6_K scales each group by its number of the largest magnitude divided by -32.
func quantizeQ6_K(c *blockColumn, x []float32) {
	const groups, size = 16, 16
	var scales [groups]float32
	_, nan := extremeOf(x)
	for g := range groups {
		extreme, _ := extremeOf(x[g*size:][:size])
		scales[g] = extreme / -32
	}
	largest, _ := extremeOf(scales[:])
	c.d = half.ToFloat16(float32(math.Abs(float64(largest)))/127 + nan)
	if nan != 0 {
		return
	}
	d := half.Float16(c.d)
	for g := range groups {
		scale := clampRound(scales[g]*reciprocal(d), -127, 127)
		c.scale[g] = uint8(scale)
		inverse := reciprocal(d * float32(scale))
		for p, v := range x[g*size:][:size] {
			c.q[g*size+p] = byte(32 + clampRound(v*inverse, -32, 31))
		}
	}
}

// quantizeMXFP4 scales by the power of 2 that makes the largest magnitude less than 8, and rounds to the nearest numbers. The
// format has no NaN: in a block with a NaN or an infinity all elements become infinite.
func quantizeMXFP4(c *blockColumn, x []float32) {
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

// extremeOf returns the number of the largest magnitude. nan is NaN if x has a NaN or an infinity,
// and otherwise 0.
func extremeOf(x []float32) (extreme, nan float32) {
	for _, v := range x {
		if math.Abs(float64(v)) > math.Abs(float64(extreme)) {
			extreme = v
		}
		nan += v - v
	}
	return extreme, nan
}

// reciprocal is 1/x, and 0 for 0.
func reciprocal(x float32) float32 {
	if x == 0 {
		return 0
	}
	return 1 / x
}

// clampRound returns the integer nearest to x, limited to [low, high], and low for NaN.
func clampRound(x float32, low, high int) int {
	if !(x > float32(low)) {
		return low
	}
	return int(math.RoundToEven(float64(min(x, float32(high)))))
}
