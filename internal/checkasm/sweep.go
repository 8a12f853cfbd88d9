package checkasm

import (
	"math"
	"slices"
)

// Lengths returns the numbers of elements at which vector code goes wrong: 0 to four vectors and
// three elements, and each of the edges (of unrolled loops, of blocks) with the numbers just below
// and just above it.
func Lengths(width int, edges ...int) []int {
	var ns []int
	for n := range 4*width + 4 {
		ns = append(ns, n)
	}
	for _, e := range edges {
		ns = append(ns, e-1, e, e+1)
	}
	slices.Sort(ns)
	ns = slices.Compact(ns)
	return ns[slices.IndexFunc(ns, func(n int) bool { return n >= 0 }):]
}

// Placements returns all distances from either guard page, in elements of elem bytes, up to a cache
// line of 64 bytes: every alignment that an element can have, and every number of elements between
// a vector and the end of its page.
func Placements(elem int) []Placement {
	var ps []Placement
	for d := 0; d < 64; d += elem {
		ps = append(ps, Placement{Distance: d}, Placement{Front: true, Distance: d})
	}
	return ps
}

// ULP returns the distance of got from the exact result want, in units in the last place of want
// rounded to float32. Below the normal numbers a unit is the smallest denormal number. The distance
// is 0 if both are NaN or the same infinity, or if want overflows to the infinity got. It is +Inf
// if only one is NaN or infinite.
func ULP(got float32, want float64) float64 {
	g := float64(got)
	switch {
	case g == want || math.IsNaN(g) && math.IsNaN(want):
		return 0
	case math.IsInf(g, 0) && float32(want) == got:
		return 0
	case math.IsNaN(g) || math.IsInf(g, 0) || math.IsNaN(want) || math.IsInf(want, 0):
		return math.Inf(1)
	}
	_, exp := math.Frexp(want) // want = f * 2^exp, 0.5 <= f < 1
	if want == 0 {
		exp = -125
	}
	exp = min(max(exp, -125), 128)
	return math.Abs(g-want) / math.Ldexp(1, exp-24)
}
