package weights

import (
	"math"

	"github.com/avoformer/avoformer/internal/half"
)

// This file converts float32 to blocks whose groups have scales and minima, which a search chooses.

// quantizeQ4_K and quantizeQ5_K have minima too, which are subtracted and are at most 0.
func quantizeQ4_K(c *quantizer, x []float32) { quantizeGroups(c, x, 15, &sweepQ4_K) }
func quantizeQ5_K(c *quantizer, x []float32) { quantizeGroups(c, x, 31, &sweepQ5_K) }

var sweepQ4_K, sweepQ5_K = newSweep(14.1, 15.9), newSweep(29.6, 32.5)

// blockRounds is the number of times that a block's scales are chosen again.
const blockRounds = 2

// affineBlock holds the scales and minima of a block.
type affineBlock struct {
	d, dmin      float64
	scale, least [8]float64 // integers
}

func quantizeGroups(c *quantizer, x []float32, high float32, to *sweep) {
	const size = 32
	groups, extreme, nan := c.setGroups(x, size, true)
	if nan != 0 {
		c.d, c.dmin = half.ToFloat16(nan), half.ToFloat16(nan)
		return
	}
	if extreme == 0 {
		return
	}
	var steps, depths [8]float64
	var step, depth float64 // largest ones
	for i := range groups {
		g := &groups[i]
		s, m := c.search.fitAbove(g, high, to, false)
		steps[i], depths[i] = s*g.unit, m*g.unit
		step, depth = max(step, steps[i]), max(depth, depths[i])
	}
	b := affineBlock{d: nearest16(step / 63), dmin: nearest16(depth / 63)}
	if math.IsInf(b.d, 0) || math.IsInf(b.dmin, 0) {
		c.d, c.dmin = half.ToFloat16(float32(b.d)), half.ToFloat16(float32(b.dmin))
		return
	}
	var best affineBlock
	leastError := math.Inf(1)
	for range blockRounds {
		total := 0.0
		// The numbers are d·u - dmin·v. These are sums of products of u, v and x.
		var uu, uv, vv, ux, vx float64
		for i := range groups {
			g := &groups[i]
			s, e := b.refine(&c.search, g, i, steps[i], depths[i], high)
			total += float64(e * g.square)
			weight := g.square / g.unit
			n, m := b.scale[i], b.least[i]
			ux += float64(weight * float64(n*s.qx))
			vx += float64(weight * float64(m*g.sx))
			weight /= g.unit
			uu += float64(weight * float64(float64(n*n)*s.qq))
			uv += float64(weight * float64(float64(n*m)*s.q))
			vv += float64(weight * float64(float64(m*m)*g.sw))
		}
		if total >= leastError {
			break
		}
		best, leastError = b, total
		next := b
		if det := float64(uu*vv) - float64(uv*uv); det > 0 {
			next.d = nearest16((float64(ux*vv) - float64(uv*vx)) / det)
			next.dmin = nearest16((float64(uv*ux) - float64(uu*vx)) / det)
		} else if uu > 0 {
			next.d = nearest16(ux / uu)
		}
		if next.d <= 0 || next.dmin < 0 || next.d == b.d && next.dmin == b.dmin {
			break
		}
		// errOf returns the error of the same integers, minus the error of zeros.
		errOf := func(b *affineBlock) float64 {
			return float64(float64(b.d*b.d)*uu) - float64(float64(2*b.d*b.dmin)*uv) + float64(float64(b.dmin*b.dmin)*vv) - float64(2*b.d*ux) + float64(2*b.dmin*vx)
		}
		if gain := errOf(&b) - errOf(&next); gain > 0 {
			best, leastError = next, total-gain
		}
		b = next
		for i := range groups {
			steps[i], depths[i] = b.d*b.scale[i], b.dmin*b.least[i]
		}
	}
	c.d, c.dmin = half.ToFloat16(float32(best.d)), half.ToFloat16(float32(best.dmin))
	for i := range groups {
		c.scale[i], c.least[i] = uint8(best.scale[i]), uint8(best.least[i])
		g := &groups[i]
		if scale := best.d * best.scale[i]; scale != 0 {
			g.round(c.q[i*size:], scale/g.unit, best.dmin*best.least[i]/g.unit, 0, int32(high))
		} else {
			clear(c.q[i*size:][:size])
		}
	}
}

// refine chooses the scale and the minimum of group i, and returns the sums of its integers and the
// error.
func (b *affineBlock) refine(s *search, g *fitGroup, i int, step, depth float64, high float32) (best sums, leastError float64) {
	const scales, trials = 8, 16
	d, dmin := b.d/g.unit, b.dmin/g.unit
	step, depth = step/g.unit, depth/g.unit
	middle := 0.0 // the middle of the integers
	if step > 0 {
		middle = (g.sx/g.sw + depth) / step
	}
	inverse, perLeast := reciprocal(d), reciprocal(dmin)
	// For each scale, two minima keep the middle of the numbers unchanged.
	n := max(0, min(wholeOf(min(step*inverse, 63))-scales/2+1, 63-scales+1))
	var least [trials]float64
	s.n = trials
	for t := 0; t < trials; t += 2 {
		number := n + float64(t/2)
		by := limited(inverse * inverses[int(number)+128])
		under := float64(int((depth + float64((float64(d*number)-step)*middle)) * perLeast))
		under = max(0, min(under, 62))
		least[t], least[t+1] = under, under+1
		s.scale[t], s.scale[t+1] = by, by
		s.offset[t], s.offset[t+1] = offsetOf(float64(dmin*under), by), offsetOf(float64(dmin*(under+1)), by)
	}
	s.run(g, 0, high)
	leastError = math.Inf(1)
	for t := range trials {
		sum, n := s.of(t), n+float64(t/2)
		if e := g.err(&sum, float64(d*n), float64(dmin*least[t])); e < leastError {
			best, leastError, b.scale[i], b.least[i] = sum, e, n, least[t]
		}
	}
	return best, leastError
}
