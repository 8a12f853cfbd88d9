package weights

import (
	"encoding/binary"
	"math"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Blocks of columns, from float32 and from the bytes of GGUF files.

// quantizeQ8_0 finds a scale of the largest magnitude by 127.
func quantizeQ8_0(c *blockColumn, x []float32) {
	scale, inverse := simd.QuantizeBlock(x)
	c.d = half.ToFloat16(scale)
	for p, v := range x {
		c.q[p] = byte(simd.QuantizeOne(v, inverse)) ^ 128
	}
}

// quantizeQ4_0 finds a scale of the number of the largest magnitude by -8, so that it is
// kept, whatever its sign.
func quantizeQ4_0(c *blockColumn, x []float32) {
	extreme, nan := extremeOf(x)
	scale := extreme/-8 + nan
	c.d = half.ToFloat16(scale)
	inverse := reciprocal(scale)
	for p, v := range x {
		c.q[p] = 8
		if nan == 0 {
			c.q[p] = byte(min(v*inverse+8.5, 15))
		}
	}
}

// quantizeQ4_K finds scales of the range of a group by 15, and minima that are 0 or below.
func quantizeQ4_K(c *blockColumn, x []float32) {
	const groups, size = 8, 32
	var steps, depths [groups]float32
	var step, depth float32 // the largest ones
	_, nan := extremeOf(x)
	for g := range groups {
		var low, high float32
		for _, v := range x[g*size:][:size] {
			low, high = min(low, v), max(high, v)
		}
		steps[g], depths[g] = (high-low)/15, -low
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
			c.q[g*size+p] = byte(clampRound((v+least)*inverse, 0, 15))
		}
	}
}

// quantizeQ6_K finds scales of the number of the largest magnitude of a group by -32.
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

// extremeOf is the number of the largest magnitude, and nan is NaN where there is a NaN or an
// infinity, and otherwise 0.
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

// clampRound is the integer nearest to x, between two, and the lower one for a NaN.
func clampRound(x float32, low, high int) int {
	if !(x > float32(low)) {
		return low
	}
	return int(math.RoundToEven(float64(min(x, float32(high)))))
}

// What follows reads the blocks of GGUF files. Source: ggml-common.h.

func decodeQ8_0(c *blockColumn, b []byte) {
	c.d = binary.LittleEndian.Uint16(b)
	for i, q := range b[2:] {
		c.q[i] = q ^ 128
	}
}

func decodeQ4_0(c *blockColumn, b []byte) {
	c.d = binary.LittleEndian.Uint16(b)
	for i, q := range b[2:] {
		c.q[i], c.q[i+16] = q&15, q>>4
	}
}

// decodeQ4_K: scales and minima have 6 bits. Those of the first four groups are in bytes of
// their own, whose upper two bits complete those of the last four.
func decodeQ4_K(c *blockColumn, b []byte) {
	c.d, c.dmin = binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:])
	six, low := b[4:16], b[16:144]
	for g := range 4 {
		c.scale[g], c.least[g] = six[g]&63, six[g+4]&63
		c.scale[g+4] = six[g+8]&15 | six[g]>>6<<4
		c.least[g+4] = six[g+8]>>4 | six[g+4]>>6<<4
	}
	for i, q := range low {
		at := i/32*64 + i%32
		c.q[at], c.q[at+32] = q&15, q>>4
	}
}

// decodeQ6_K: each 64 bytes of lower halves and 32 of upper two bits are 128 elements.
func decodeQ6_K(c *blockColumn, b []byte) {
	low, high := b[:128], b[128:192]
	copy(c.scale[:], b[192:208])
	c.d = binary.LittleEndian.Uint16(b[208:])
	for i := range c.q {
		part, at := i/128, i%128
		c.q[i] = low[part*64+at%64]>>(at/64*4)&15 | high[part*32+at%32]>>(at/32*2)&3<<4
	}
}
