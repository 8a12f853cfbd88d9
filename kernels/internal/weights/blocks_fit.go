package weights

import (
	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Conversion of float32 to blocks of few or unevenly spaced numbers. It tries a few scales, and takes those
// with the least sum of squared errors.

// grid has the numbers that codes stand for, from -128 to 127.
type grid struct {
	numbers []int
	nearest [256]byte // code of the number nearest to index - 128
}

func gridOf(numbers ...int) *grid {
	g := &grid{numbers: numbers}
	for i := range g.nearest {
		for code, n := range numbers {
			if off, least := n+128-i, numbers[g.nearest[i]]+128-i; off*off < least*least {
				g.nearest[i] = byte(code)
			}
		}
	}
	return g
}

var (
	nonlinear = func() *grid {
		var numbers []int
		for _, n := range simd.NumbersOf[simd.Nonlinear] {
			numbers = append(numbers, int(n)-128)
		}
		return gridOf(numbers...)
	}()
	eight = gridOf(-128, -96, -64, -32, 0, 32, 64, 96) // -4 to 3, times 32
)

// code returns the code of the number nearest to v*inverse, and the code of the least
// number for NaN.
func (g *grid) code(v, inverse float32) byte {
	at := float32(v*inverse) + 128.5
	if !(at > 0) {
		at = 0
	}
	return g.nearest[int(min(at, 255))]
}

// fitted is the number of scales that are tried on each side of the scale that maps the largest magnitude to
// the least number.
const fitted = 4

// fit returns the scale whose multiples of the numbers come nearest to x.
func (g *grid) fit(x []float32) float32 {
	extreme, _ := extremeOf(x)
	if extreme == 0 {
		return 0
	}
	var scale, best float64
	for try := -fitted; try <= fitted; try++ {
		inverse := float32(g.numbers[0]+2*try) / extreme
		var dot, square float64 // products are exact
		for _, v := range x {
			n := float64(g.numbers[g.code(v, inverse)])
			dot += n * float64(v)
			square += n * n
		}
		if gain := dot * dot / square; gain > best {
			scale, best = dot/square, gain
		}
	}
	return float32(scale)
}

// quantizeIQ4_NL has a scale of 16 bits for 32 numbers.
func quantizeIQ4_NL(c *blockColumn, x []float32) {
	_, nan := extremeOf(x)
	if nan != 0 {
		c.d = half.ToFloat16(nan)
		return
	}
	c.d = half.ToFloat16(nonlinear.fit(x))
	inverse := reciprocal(half.Float16(c.d))
	for p, v := range x {
		c.q[p] = nonlinear.code(v, inverse)
	}
}

// quantizeIQ4_XS and quantizeQ3_K have a scale of 6 bits for each group, and one of 16 bits for the block.
// Scales of Q3_K are 32 times those of its grid.
func quantizeIQ4_XS(c *blockColumn, x []float32) { nonlinear.quantizeGroups(c, x, 32, 1) }
func quantizeQ3_K(c *blockColumn, x []float32)   { eight.quantizeGroups(c, x, 16, 32) }

func (g *grid) quantizeGroups(c *blockColumn, x []float32, size int, unit float32) {
	var scales [16]float32
	_, nan := extremeOf(x)
	if nan != 0 {
		c.d = half.ToFloat16(nan)
		return
	}
	groups := len(x) / size
	for i := range groups {
		scales[i] = unit * g.fit(x[i*size:][:size])
	}
	largest, _ := extremeOf(scales[:groups])
	c.d = half.ToFloat16(largest / -32)
	d := half.Float16(c.d)
	for i := range groups {
		scale := clampRound(scales[i]*reciprocal(d), -32, 31)
		c.scale[i] = uint8(scale)
		inverse := unit * reciprocal(d*float32(scale))
		for p, v := range x[i*size:][:size] {
			c.q[i*size+p] = g.code(v, inverse)
		}
	}
}
