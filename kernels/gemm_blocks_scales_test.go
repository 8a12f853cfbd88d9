package kernels

import (
	"math"
	"testing"
)

// TestGroupScales packs blocks whose numbers the format can represent exactly, except for the
// rounding of one scale to 16 bits: each group has all its integers times a scale that is an
// integer, and the largest scale is the largest that the format has.
func TestGroupScales(t *testing.T) {
	for _, c := range []struct {
		format      Format
		group       int
		low, high   int // the integers of a group
		most        int // the largest scale
		withMinimum bool
	}{{FormatQ4_K, 32, 0, 15, 63, true}, {FormatQ6_K, 16, -32, 31, 127, false}} {
		const k, n = 256, 3
		x := make([]float32, n*k)
		for i := range x {
			group, column := i/c.group, i/k
			scale := 1 + (group*37+column*11)%c.most
			if i%k < c.group {
				scale = c.most
			}
			q := c.low + (i%c.group*5)%(c.high-c.low+1) // including the lowest integer, which determines the scale
			if c.withMinimum && i%c.group == 1 {
				q = c.high
			}
			x[i] = float32(scale * q)
			if c.withMinimum {
				least := 1 + (group*29+column)%63
				if i%k < c.group {
					least = 63
				}
				x[i] -= float32(least)
			}
		}
		b := PackBRows(c.format, n, k, func(j int, dst []float32) { copy(dst, x[j*k:]) })
		got := make([]float32, k)
		for j := range n {
			b.Column(got, j)
			for p, v := range got {
				want := x[j*k+p]
				if d := math.Abs(float64(v - want)); !(d <= 1e-3*float64(c.most*max(c.high, -c.low))) {
					t.Fatalf("%v: element %d of column %d is %v, want %v", c.format, p, j, v, want)
				}
			}
		}
	}
}
