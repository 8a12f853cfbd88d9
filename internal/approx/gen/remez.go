package main

import (
	"fmt"
	"math"
)

// problem asks for the polynomial sum(c[j]*t(x)^j), j = lowest..degree, that is nearest to f on
// [lo, hi]: the largest weight(x)*|difference| is to be least. t maps x to the variable of the
// polynomial. Coefficients in fixed keep their values.
type problem struct {
	lo, hi float64
	degree int
	t      func(x float64) float64
	f      func(x float64) float64
	weight func(x float64) float64
	fixed  map[int]float64
}

func (p *problem) eval(c []float64, x float64) float64 {
	t, y := p.t(x), 0.0
	for j := len(c) - 1; j >= 0; j-- {
		y = y*t + c[j]
	}
	return y
}

func (p *problem) residual(c []float64, x float64) float64 {
	return p.weight(x) * (p.eval(c, x) - p.f(x))
}

const gridPoints = 4000

func (p *problem) grid(i int) float64 {
	// Chebyshev spacing: the extrema crowd at the ends.
	return p.lo + (p.hi-p.lo)*(1-math.Cos(math.Pi*float64(i)/gridPoints))/2
}

// remez solves p with the exchange algorithm: solve for an error of equal size and alternating sign
// at one point more than there are free coefficients, move the points to where the error is
// largest, and repeat. It returns all coefficients and the largest weighted error.
func (p *problem) remez() (c []float64, worst float64) {
	var free []int
	for j := range p.degree + 1 {
		if _, ok := p.fixed[j]; !ok {
			free = append(free, j)
		}
	}
	n := len(free)
	c = make([]float64, p.degree+1)
	for j, v := range p.fixed {
		c[j] = v
	}
	// Columns are scaled to the size of t, or the system would be singular in float64 for a wide
	// interval.
	scale := 0.0
	for i := range gridPoints + 1 {
		scale = math.Max(scale, math.Abs(p.t(p.grid(i))))
	}
	points := make([]float64, n+1)
	for i := range points {
		points[i] = p.grid((2*i + 1) * gridPoints / (2 * (n + 1)))
	}
	for round := 0; ; round++ {
		a := make([][]float64, n+1)
		for i, x := range points {
			row, t, w, rest := make([]float64, n+2), p.t(x), p.weight(x), p.f(x)
			for j := range c { // in order, so that every run finds the same
				if v, ok := p.fixed[j]; ok {
					rest -= v * math.Pow(t, float64(j))
				}
			}
			for k, j := range free {
				row[k] = w * math.Pow(t/scale, float64(j))
			}
			row[n] = float64(1 - 2*(i%2))
			row[n+1] = w * rest
			a[i] = row
		}
		s := solve(a)
		for k, j := range free {
			c[j] = s[k] / math.Pow(scale, float64(j))
		}
		level := math.Abs(s[n])
		ext := p.extrema(c, n+1)
		worst = p.worst(c, 1)
		if len(ext) < n+1 || worst <= level*1.0005 || round == 60 {
			return c, worst
		}
		points = ext
	}
}

// extrema returns want points, one from each interval in which the error has a constant sign: the
// point where the error is largest. If there are too many intervals, it drops some at the ends.
func (p *problem) extrema(c []float64, want int) []float64 {
	var xs, es []float64
	for i := 0; i <= gridPoints; i++ {
		x := p.grid(i)
		e := p.residual(c, x)
		switch last := len(es) - 1; {
		case last < 0 || e*es[last] < 0:
			xs, es = append(xs, x), append(es, e)
		case math.Abs(e) > math.Abs(es[last]):
			xs[last], es[last] = x, e
		}
	}
	for len(xs) > want {
		if math.Abs(es[0]) < math.Abs(es[len(es)-1]) {
			xs, es = xs[1:], es[1:]
		} else {
			xs, es = xs[:len(xs)-1], es[:len(es)-1]
		}
	}
	return xs
}

// solve solves n linear equations, rows of n+1 numbers, by Gaussian elimination with partial
// pivoting.
func solve(a [][]float64) []float64 {
	n := len(a)
	for k := range n {
		best := k
		for i := k + 1; i < n; i++ {
			if math.Abs(a[i][k]) > math.Abs(a[best][k]) {
				best = i
			}
		}
		a[k], a[best] = a[best], a[k]
		for i := k + 1; i < n; i++ {
			q := a[i][k] / a[k][k]
			for j := k; j <= n; j++ {
				a[i][j] -= q * a[k][j]
			}
		}
	}
	x := make([]float64, n)
	for k := n - 1; k >= 0; k-- {
		x[k] = a[k][n]
		for j := k + 1; j < n; j++ {
			x[k] -= a[k][j] * x[j]
		}
		x[k] /= a[k][k]
	}
	return x
}

// float32Coefficients rounds the coefficients one after the other, from the highest down, and lets
// the other coefficients compensate for each rounding.
func (p *problem) float32Coefficients(name string) (c []float32, worst float64) {
	fixed := map[int]float64{}
	for j, v := range p.fixed {
		if float64(float32(v)) != v {
			panic(fmt.Sprintf("%s: fixed coefficient %d is not a float32", name, j))
		}
		fixed[j] = v
	}
	q := *p
	q.fixed = fixed
	var best []float64
	for j := p.degree; j >= 0; j-- {
		best, _ = q.remez()
		if _, ok := fixed[j]; !ok {
			fixed[j] = float64(float32(best[j]))
		}
	}
	p.polish(fixed)
	c, best = make([]float32, p.degree+1), make([]float64, p.degree+1)
	for j := range c {
		c[j], best[j] = float32(fixed[j]), fixed[j]
	}
	return c, p.worst(best, 1)
}

// worst returns the largest weighted error on every step-th point of the grid.
func (p *problem) worst(c []float64, step int) float64 {
	w := 0.0
	for i := 0; i <= gridPoints; i += step {
		w = math.Max(w, math.Abs(p.residual(c, p.grid(i))))
	}
	return w
}

// polish moves float32 coefficients, singly and in pairs at most two apart, to the next or the
// previous float32 as long as that reduces the largest error.
func (p *problem) polish(coefficients map[int]float64) {
	const step = 20
	c := make([]float64, p.degree+1)
	for j := range c {
		c[j] = coefficients[j]
	}
	next := func(v float64, dir int) float64 {
		return float64(math.Nextafter32(float32(v), float32(dir)*float32(math.Inf(1))))
	}
	worst := p.worst(c, step)
	for improved := true; improved; {
		improved = false
		for j := range c {
			for k := j; k < len(c) && k <= j+2; k++ {
				if _, keep := p.fixed[j]; keep {
					continue
				}
				if _, keep := p.fixed[k]; keep {
					continue
				}
				for _, d := range [][2]int{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}} {
					a, b := c[j], c[k]
					c[j] = next(c[j], d[0])
					if k != j {
						c[k] = next(c[k], d[1])
					}
					if w := p.worst(c, step); w < worst {
						worst, improved = w, true
					} else {
						c[j], c[k] = a, b
					}
				}
			}
		}
	}
	for j := range c {
		coefficients[j] = c[j]
	}
}
