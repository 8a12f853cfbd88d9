package weights

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file converts float32 to blocks whose scales a search chooses: blocks with scales of groups,
// and blocks of unevenly spaced numbers. fit.go has the search in a group, and blocks_minima.go the
// formats with minima.

// grid holds the numbers of codes, from -128 to 127.
type grid struct {
	numbers [16]float32
	// nearest holds the code of the number nearest to half of index - 256.
	nearest [512]byte
}

var nonlinear = func() *grid {
	g := new(grid)
	for code, n := range simd.NumbersOf[simd.Nonlinear] {
		g.numbers[code] = float32(n) - 128
	}
	for i := range g.nearest {
		at := float32(2*i+1) - 512 // four times the number that rounds down to the index
		for code, n := range g.numbers {
			if off, least := float32(4*n)-at, float32(4*g.numbers[g.nearest[i]])-at; off*off < least*least {
				g.nearest[i] = byte(code)
			}
		}
	}
	return g
}()

// levels holds the integers of a format whose groups have no minima, and its scales.
type levels struct {
	size      int // elements of a group
	low, high float32
	grid      *grid // numbers in place of integers, or nil
	to        sweep // numbers that the largest magnitude is mapped to
	// The scale of a group is an integer from lowest to highest. For numbers of a grid, the
	// neighbours of a scale of at most coarse are tried too.
	lowest, highest, coarse float64
	nearest                 bool        // without importance, the nearest scale is chosen: other scales gain little
	zeros                   blockColumn // llama.cpp's block for zeros, except for codes
	zero                    byte        // the code of 0
}

var (
	levelsQ6_K   = levels{size: 16, low: -32, high: 31, to: newSweep(30.5, 32.4), lowest: -128, highest: 127, zero: 32}
	levelsQ3_K   = levels{size: 16, low: -4, high: 3, to: newSweep(3.25, 4.65), lowest: -32, highest: 31, nearest: true, zero: 4, zeros: blockColumn{scale: lowestScales}}
	levelsIQ4_XS = levels{size: 32, low: -128, high: 127, grid: nonlinear, lowest: -32, highest: 31, coarse: 8, zero: 8, zeros: blockColumn{d: 1 << 15}}
)

var lowestScales = [16]uint8(slices.Repeat([]uint8{256 - 32}, 16))

func quantizeQ6_K(c *quantizer, x []float32)   { levelsQ6_K.quantize(c, x) }
func quantizeQ3_K(c *quantizer, x []float32)   { levelsQ3_K.quantize(c, x) }
func quantizeIQ4_XS(c *quantizer, x []float32) { levelsIQ4_XS.quantize(c, x) }

// code returns the code of the number nearest to x times the inverse of a scale.
func (g *grid) code(x, inverse float32) byte {
	return g.nearest[min(max(int32(float32(x*inverse)*2+256), 0), 511)]
}

// sums returns the sums for the grid's numbers that are nearest to the numbers of a group divided
// by scale.
func (g *grid) sums(of *fitGroup, scale float64) sums {
	inverse := inverseOf(scale)
	var qx, qq float32
	w := of.w[:len(of.x)]
	for p, x := range of.x {
		q := g.numbers[g.code(x, inverse)&15]
		wq := float32(w[p] * q)
		qx += float32(wq * x)
		qq += float32(wq * q)
	}
	return sums{qx: float64(qx), qq: float64(qq)}
}

// gridScales is the number of scales that are tried for numbers of a grid, with the largest
// magnitude at each of its ends.
const gridScales = 9

// fit returns the best scale of a group.
func (l *levels) fit(s *search, g *fitGroup) (scale float64) {
	if l.grid == nil {
		return s.fit(g, l.low, l.high, &l.to)
	}
	extreme, most := float64(g.extreme()), 0.0
	for _, end := range [2]float32{l.grid.numbers[0], l.grid.numbers[15]} {
		for i := range gridScales {
			s := l.grid.sums(g, extreme/(float64(end)+float64(3*(i-gridScales/2))))
			if gain := s.qx * s.qx / s.qq; gain > most {
				scale, most = s.qx/s.qq, gain
			}
		}
	}
	return scale
}

// round sets q to the codes of a group.
func (l *levels) round(q []byte, g *fitGroup, scale float64) {
	if l.grid == nil {
		g.round(q, scale, 0, int32(l.low), int32(l.high))
		return
	}
	inverse := inverseOf(scale)
	for p, x := range g.x {
		q[p] = l.grid.code(x, inverse)
	}
}

func (l *levels) quantize(c *quantizer, x []float32) {
	groups, extreme, nan := c.setGroups(x, l.size, l.grid != nil)
	switch {
	case nan != 0:
		c.d = half.ToFloat16(nan)
		return
	case extreme == 0:
		c.blockColumn = l.zeros
		if l.grid != nil {
			fill(c, x, l.zero)
		}
		return
	}
	var scales [16]float64
	largest := 0.0
	for i := range groups {
		g := &groups[i]
		scales[i] = l.fit(&c.search, g) * g.unit
		if math.Abs(scales[i]) > math.Abs(largest) {
			largest = scales[i]
		}
	}
	d := l.unitOf(scales[:len(groups)], largest)
	c.d = half.ToFloat16(float32(d))
	if math.IsInf(d, 0) {
		return
	}
	// The numbers are d·u. These are sums of products of u and x.
	nearest := l.nearest && c.importance == nil
	var uu, ux float64
	for i := range groups {
		g := &groups[i]
		var s sums
		var n float64
		if nearest {
			n = max(l.lowest, min(wholeOf(scales[i]/d), l.highest))
			s = l.roundNear(c.q[i*l.size:][:l.size], g, d*n/g.unit)
		} else {
			s, n = l.refine(&c.search, g, scales[i], d)
		}
		scales[i] = n
		weight := g.square / g.unit
		ux += float64(float64(weight*n) * s.qx)
		uu += float64(float64(weight/g.unit*n) * float64(n*s.qq))
	}
	if uu > 0 {
		better := nearest16(ux / uu)
		if math.Abs(float64(better*uu)-ux) < math.Abs(float64(d*uu)-ux) && !math.IsInf(better, 0) {
			d = better
			c.d = half.ToFloat16(float32(d))
		}
	}
	for i := range groups {
		c.scale[i] = uint8(int8(scales[i]))
		if nearest {
			continue
		}
		q := c.q[i*l.size:][:l.size]
		if scale := d * scales[i]; scale != 0 {
			l.round(q, &groups[i], scale/groups[i].unit)
			continue
		}
		copy(q, slices.Repeat([]byte{l.zero}, l.size))
	}
}

// roundNear sets q to the codes of a group without weights, and returns their sums.
func (l *levels) roundNear(q []byte, g *fitGroup, scale float64) (s sums) {
	low, high := int32(l.low), int32(l.high)
	if scale == 0 {
		copy(q, slices.Repeat([]byte{l.zero}, l.size))
		return s
	}
	inverse := inverseOf(scale)
	const bias = 0x1.8p23 // a sum with it has the nearest integer in its lowest bits
	q = q[:len(g.x)]
	var qx float32
	var qq int32
	for p, x := range g.x {
		n := int32(math.Float32bits(float32(x*inverse)+bias) - math.Float32bits(bias))
		n = min(max(n, low), high)
		q[p] = byte(n - low)
		qx += float32(float32(n) * x)
		qq += n * n
	}
	return sums{qx: float64(qx), qq: float64(qq)}
}

// unitOf returns the number whose multiples fit the scales best. The largest scale becomes one of
// the largest integers of either sign: the one that leaves the smallest squares of distances to
// integers.
func (l *levels) unitOf(scales []float64, largest float64) (best float64) {
	best = nearest16(largest / l.lowest)
	least := math.Inf(1)
	for _, to := range [4]float64{l.lowest, l.highest, l.lowest + 1, l.highest - 1} {
		d := nearest16(largest / to)
		inverse, off := 1/d, 0.0
		for _, s := range scales {
			n := float64(s * inverse)
			n -= wholeOf(n)
			off += float64(n * n)
		}
		if off = float64(off * float64(d*d)); off < least {
			best, least = d, off
		}
	}
	return best
}

// refine returns the best multiple of d for the scale of a group, and the sums of its integers.
func (l *levels) refine(s *search, g *fitGroup, scale, d float64) (best sums, multiple float64) {
	if l.grid != nil {
		return l.refineGrid(g, scale, d)
	}
	const trials = 8
	unit := d / g.unit
	inverse := reciprocal(unit)
	n := wholeOf(float64(scale/g.unit*inverse)) - trials/2 + 1
	n = max(l.lowest, min(n, l.highest-trials+1))
	s.n = trials
	for i := range trials {
		s.scale[i], s.offset[i] = limited(inverse*inverses[int(n)+i+128]), 0
	}
	s.run(g, l.low, l.high)
	// the errors of integers, less those of zeros
	leastError := 0.0
	for i := range trials {
		t := s.of(i)
		size := float64(unit * (n + float64(i)))
		if e := size * (float64(size*t.qq) - 2*t.qx); e < leastError {
			best, multiple, leastError = t, n+float64(i), e
		}
	}
	return best, multiple
}

// refineGrid does the same as refine for numbers of a grid.
func (l *levels) refineGrid(g *fitGroup, scale, d float64) (best sums, multiple float64) {
	leastError := g.sxx
	try := func(n float64) (again float64) {
		n = max(l.lowest, min(n, l.highest))
		if n == 0 || n == multiple {
			return n
		}
		size := d * n / g.unit
		s := l.grid.sums(g, size)
		if e := g.err(&s, size, 0); e < leastError {
			best, multiple, leastError = s, n, e
		}
		if s.qq == 0 {
			return n
		}
		return math.RoundToEven(s.qx / s.qq * g.unit / d)
	}
	n := wholeOf(scale / d)
	if again := try(n); again != n {
		try(again)
	}
	if math.Abs(n) <= l.coarse {
		try(n + 1)
		try(n - 1)
	}
	return best, multiple
}

// quantizeIQ4_NL chooses a scale of 16 bits for 32 numbers.
func quantizeIQ4_NL(c *quantizer, x []float32) {
	groups, extreme, nan := c.setGroups(x, len(x), true)
	l := &levelsIQ4_XS
	switch {
	case nan != 0:
		c.d = half.ToFloat16(nan)
		return
	case extreme == 0:
		fill(c, x, l.zero)
		return
	}
	g := &groups[0]
	d := nearest16(l.fit(&c.search, g) * g.unit)
	c.d = half.ToFloat16(float32(d))
	if !math.IsInf(d, 0) {
		l.round(c.q[:], g, d/g.unit)
	}
}
