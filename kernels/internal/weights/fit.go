package weights

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file searches for the scale of a group of numbers, and for its minimum.
//
// A trial rounds the numbers with a scale and a minimum. It yields the sums of the integers, of
// their products with the numbers and of their squares. From these follow, by least squares, the
// best scale and minimum for the same integers, and the error that they leave. simd.RoundedSums
// makes many trials at once. A search tries scales around the one that maps the largest magnitude
// to the largest integer, and then those near the best.
//
// Numbers are multiples of a unit, a power of 2 above the largest magnitude. Each operation on them
// and on sums is rounded, in the same order on all machines, so that all of them choose the same
// scales.

const (
	// fitMost limits the inverses of scales, so that numbers become integers that float32
	// represents.
	fitMost = 1 << 20
	// fitWeight is the smallest weight of a number, relative to a power of 2 above the largest
	// weight, so that each number has a weight.
	fitWeight = 0x1p-14
	// fitTrials is the number of scales of a sweep, and mostTrials is the number of all trials that
	// are made at once.
	fitTrials  = 8
	mostTrials = 2 * fitTrials
)

// fitGroup is a group of at most 32 numbers. Scales and minima in its methods are in units.
type fitGroup struct {
	x, w        []float32 // numbers and weights
	weighed     bool      // weights may differ from 1
	least, most float32   // numbers
	unit        float64
	square      float64 // the square of the unit, times the unit of weights
	// sums of weights, of weighted numbers, and of weighted squares
	sw, sx, sxx float64

	numbers, weights [32]float32
}

var fitOnes = [32]float32(slices.Repeat([]float32{1}, 32))

// sums are the sums of weighted q, q·x and q·q for integers q.
type sums struct{ q, qx, qq float64 }

// set sets up a group. If whole is set, or if importance is not nil, it also computes the group's
// sums. importance is nil, or has a weight for each number. top is the largest magnitude, as bits.
// For a group with a NaN or an infinity it is at least that of an infinity, and the group has no
// numbers to search with.
func (g *fitGroup) set(x, importance []float32, whole bool) (top uint32) {
	first, last := orderedEnds(x)
	least, most := inOrder(first), inOrder(last)
	top = max(math.Float32bits(least)&^(1<<31), math.Float32bits(most)&^(1<<31))
	exponent := exponentOf(math.Float32frombits(top))
	up := powerOf2(-exponent)
	g.least, g.most = float32(float64(least)*up), float32(float64(most)*up)
	g.unit = powerOf2(exponent)
	g.square = g.unit * g.unit
	g.x, g.w, g.weighed = g.numbers[:len(x)], fitOnes[:len(x)], importance != nil
	if by := float32(up); float64(by) == up {
		for p, v := range x {
			g.x[p] = v * by
		}
	} else {
		for p, v := range x {
			g.x[p] = float32(float64(v) * up)
		}
	}
	switch {
	case g.weighed:
		g.setWeights(importance)
		var sw, sx, sxx float32
		for p, n := range g.x {
			w := g.w[p]
			wx := float32(w * n)
			sw += w
			sx += wx
			sxx += float32(wx * n)
		}
		g.sw, g.sx, g.sxx = float64(sw), float64(sx), float64(sxx)
	case whole:
		var sx, sxx float32
		for _, n := range g.x {
			sx += n
			sxx += float32(n * n)
		}
		g.sw, g.sx, g.sxx = float64(len(x)), float64(sx), float64(sxx)
	}
	return top
}

// setWeights sets the weights of numbers.
func (g *fitGroup) setWeights(importance []float32) {
	g.w = g.weights[:len(importance)]
	var top uint32
	for _, v := range importance {
		top = max(top, math.Float32bits(v))
	}
	exponent := exponentOf(math.Float32frombits(top))
	up := powerOf2(-exponent)
	for p, v := range importance {
		g.w[p] = max(fitWeight, float32(float64(v)*up))
	}
	g.square *= powerOf2(exponent)
	if top == 0 {
		g.square = 0
	}
}

// exponentOf returns the exponent of the power of 2 above a magnitude.
func exponentOf(x float32) int { return int(math.Float64bits(float64(x))>>52) - 1022 }

// powerOf2 returns 2^e for an exponent e of a float64 that is not denormal.
func powerOf2(e int) float64 { return math.Float64frombits(uint64(max(e+1023, 1)) << 52) }

// inverseOf returns the inverse of a scale for trials.
func inverseOf(scale float64) float32 { return limited(1 / scale) }

// limited returns an inverse limited to the range of trials.
func limited(inverse float64) float32 {
	if inverse < -fitMost || inverse > fitMost {
		return float32(math.Copysign(fitMost, inverse))
	}
	return float32(inverse)
}

// wholeOf returns the integer nearest to x, of a magnitude of less than 2^51.
func wholeOf(x float64) float64 {
	const bias = 0x1.8p52
	return float64(x+bias) - bias
}

// offsetOf returns the number that trials add for a minimum.
func offsetOf(least float64, inverse float32) float32 {
	return limited(least * float64(inverse))
}

// round sets q to the integers from low to high that are nearest to the numbers plus least, divided
// by scale, minus low.
func (g *fitGroup) round(q []byte, scale, least float64, low, high int32) {
	inverse := inverseOf(scale)
	offset := offsetOf(least, inverse)
	const bias = 0x1.8p23 // a sum with it has the nearest integer in its lowest bits
	q = q[:len(g.x)]
	for p, x := range g.x {
		n := int32(math.Float32bits(float32(float32(x*inverse)+offset)+bias) - math.Float32bits(bias))
		q[p] = byte(min(max(n, low), high) - low)
	}
}

// search holds the trials of a group.
type search struct {
	isa           simd.ISA
	scale, offset [mostTrials]float32
	sums          [3 * mostTrials]float32
	n             int // trials
}

// add adds a trial with an inverse of a scale and an offset.
func (s *search) add(inverse, offset float32) {
	s.scale[s.n], s.offset[s.n] = inverse, offset
	s.n++
}

// run computes the trials with integers from low to high.
func (s *search) run(g *fitGroup, low, high float32) {
	simd.RoundedSums(s.isa, s.sums[:3*s.n], s.scale[:s.n], s.offset[:s.n], g.x, g.w, low, high)
}

// of returns the sums of a trial.
func (s *search) of(i int) sums {
	return sums{float64(s.sums[i]), float64(s.sums[s.n+i]), float64(s.sums[2*s.n+i])}
}

// sweep holds the numbers to which trials map a number.
type sweep [fitTrials]float64

// newSweep returns numbers between from and to, both included.
func newSweep(from, to float32) (s sweep) {
	step := float64(to-from) / (fitTrials - 1)
	for i := range s {
		s[i] = float64(from) + float64(float64(i)*step)
	}
	return s
}

// extreme returns the number of the largest magnitude.
func (g *fitGroup) extreme() float32 {
	if -g.least > g.most {
		return g.least
	}
	return g.most
}

// fit returns the best scale for integers from low to high. Each trial maps the number of the
// largest magnitude, or in a weighed group also that of the largest weighted square, to minus a
// number of to, so that it has the sign of low.
func (s *search) fit(g *fitGroup, low, high float32, to *sweep) float64 {
	extreme := g.extreme()
	if extreme == 0 {
		return 0
	}
	s.n = 0
	s.sweep(-1/float64(extreme), to)
	if g.weighed { // larger numbers of little weight may exceed the integers
		heaviest, most := extreme, float32(-1)
		for p, x := range g.x {
			if square := float32(g.w[p]*x) * x; square > most {
				heaviest, most = x, square
			}
		}
		if heaviest != extreme {
			s.sweep(-1/float64(heaviest), to)
		}
	}
	s.run(g, low, high)
	var most, of, best float32 = 0, 1, 0
	squares := s.sums[2*s.n : 3*s.n]
	for i, qx := range s.sums[s.n:][:len(squares)] {
		qq := squares[i]
		if square := float32(qx * qx); float32(square*of) > float32(most*qq) {
			most, of, best = square, qq, qx
		}
	}
	return float64(best) / float64(of)
}

// sweep adds a trial for each number of to, with the number times by as the inverse of its scale.
func (s *search) sweep(by float64, to *sweep) {
	scale, offset := s.scale[s.n:][:fitTrials], s.offset[s.n:][:fitTrials]
	for i, v := range to {
		scale[i], offset[i] = float32(v*by), 0
	}
	s.n += fitTrials
}

// fitAbove returns the best scale and minimum for integers from 0 to high. If signed is set, the
// minimum may be negative.
func (s *search) fitAbove(g *fitGroup, high float32, to *sweep, signed bool) (scale, least float64) {
	low := g.least
	if !signed {
		low = min(low, 0)
	}
	if g.most <= low {
		return 0, -float64(low)
	}
	// Trials have the least number at 0, and then the largest at high.
	s.n = 0
	s.sweep(1/(float64(g.most)-float64(low)), to)
	s.sweep(1/(float64(g.most)-float64(low)), to)
	for i := range fitTrials {
		s.offset[i] = -float32(low * s.scale[i])
		s.offset[fitTrials+i] = high - float32(g.most*s.scale[fitTrials+i])
	}
	s.run(g, 0, high)
	var tried [2]sums
	for half := range tried {
		var most, of float64 = 0, 1
		tried[half] = s.of(half * fitTrials) // unchanged if no trial gains anything, as for equal numbers
		for i := half * fitTrials; i < (half+1)*fitTrials; i++ {
			t := s.of(i)
			root := float64(t.qx*g.sw) - float64(t.q*g.sx)
			det := float64(t.qq*g.sw) - float64(t.q*t.q)
			if gain := root * root; float64(gain*of) > float64(most*det) {
				most, of, tried[half] = gain, det, t
			}
		}
	}
	s.n = 0
	for _, t := range tried {
		size, first := g.solve(&t, signed)
		if size > 0 {
			s.addAffine(size, first)
		}
	}
	s.run(g, 0, high)
	// If both leave no error, the first minimum is the smallest number, which 16 bits may
	// represent: numbers that were in such blocks stay unchanged.
	const noise = 1e-5
	leastError := math.Inf(1)
	for i := range s.n {
		t := s.of(i)
		size, first := g.solve(&t, signed)
		if e := g.err(&t, size, first); e < leastError-float64(noise*g.sxx) {
			leastError, scale, least = e, size, first
		}
	}
	return scale, least
}

// addAffine adds a trial with a scale and a minimum.
func (s *search) addAffine(scale, least float64) {
	inverse := inverseOf(scale)
	s.add(inverse, offsetOf(least, inverse))
}

// solve returns the scale and the minimum that are best for integers with these sums.
func (g *fitGroup) solve(s *sums, signed bool) (scale, least float64) {
	det := float64(s.qq*g.sw) - float64(s.q*s.q)
	if det > 0 {
		scale = (float64(s.qx*g.sw) - float64(s.q*g.sx)) / det
		least = (float64(scale*s.q) - g.sx) / g.sw
	}
	if !signed && (det <= 0 || least < 0) {
		scale, least = 0, 0
		if s.qq > 0 {
			scale = s.qx / s.qq
		}
	}
	return max(scale, 0), least
}

// err returns the sum of the squares of errors of integers with these sums.
func (g *fitGroup) err(s *sums, scale, least float64) float64 {
	return g.sxx - float64(2*scale*s.qx) + float64(2*least*g.sx) + float64(scale*scale*s.qq) - float64(2*scale*least*s.q) + float64(least*least*g.sw)
}

// outermost returns the bits of the largest positive number, and of the negative number of the
// largest magnitude; they may be NaN. Without such numbers it returns the bits of 0 and of -0. No
// branch depends on the numbers, because many branches would be predicted wrongly.
func outermost(x []float32) (positive, negative uint32) {
	var high, high1 int32 // in which negative numbers are below 0
	low, low1 := uint32(1<<31), uint32(1<<31)
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d := math.Float32bits(x[0]), math.Float32bits(x[1]), math.Float32bits(x[2]), math.Float32bits(x[3])
		high, high1 = max(high, int32(a), int32(c)), max(high1, int32(b), int32(d))
		low, low1 = max(low, a, c), max(low1, b, d)
	}
	for _, v := range x {
		high, low = max(high, int32(math.Float32bits(v))), max(low, math.Float32bits(v))
	}
	return uint32(max(high, high1)), max(low, low1)
}

// orderedEnds returns the smallest and the largest number as integers in the order of the numbers,
// with NaN at both ends. inOrder converts them back to numbers.
func orderedEnds(x []float32) (least, most int32) {
	positive, negative := outermost(x)
	if positive > 0 && negative > 1<<31 {
		return int32(negative ^ math.MaxInt32), int32(positive)
	}
	least, most = math.MaxInt32, math.MinInt32
	for _, v := range x {
		n := int32(math.Float32bits(v))
		n ^= n >> 31 & math.MaxInt32
		least, most = min(least, n), max(most, n)
	}
	return least, most
}

func inOrder(n int32) float32 { return math.Float32frombits(uint32(n ^ n>>31&math.MaxInt32)) }

// inverses holds the inverses of the integers from -128 to 127, and 0 for 0.
var inverses = func() (inverses [256]float64) {
	for i := range inverses {
		if n := float64(i - 128); n != 0 {
			inverses[i] = 1 / n
		}
	}
	return inverses
}()
