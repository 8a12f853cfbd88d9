// Package order defines the order in which numbers are added, and the operations that compute
// functions, for every machine. Each kernel follows these definitions, so results have the same
// bits everywhere.
//
// The elements of a row are summed in Lanes lanes, and [Sum] returns their total. An element of a
// product is a [Chain], or [Dots] if [IsDots] says so. A product and the addition after it are
// rounded once, together, as by [FMA]. Each function is one sequence of float32 operations, each
// correctly rounded: see functions.go. The bits of NaNs are not specified.
//
// Nothing here depends on the width of a vector, on tiles, on threads, or on the division of a call.
package order

// Lanes is the number of lanes in which a row is summed: element i goes to lane i modulo Lanes.
const Lanes = 32

// Sums holds the lanes of a row.
type Sums [Lanes]float32

// Total adds lane i and lane i + Lanes/2, and so on by halves until one lane is left.
func (s *Sums) Total() float32 {
	for half := Lanes / 2; half > 0; half /= 2 {
		for i := range half {
			s[i] += s[i+half]
		}
	}
	return s[0]
}

// Sum returns the sum of a row.
func Sum(x []float32) float32 {
	var s Sums
	for i, v := range x {
		s[i%Lanes] += v
	}
	return s.Total()
}

// Dot returns the sum of the products of two rows of the same length.
func Dot(x, y []float32) float32 {
	var s Sums
	y = y[:len(x)]
	for i, v := range x {
		s[i%Lanes] = FMA(v, y[i], s[i%Lanes])
	}
	return s.Total()
}
