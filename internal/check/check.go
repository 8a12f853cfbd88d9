// Package check has the errors of package transformer and of those built on it, and the checks that
// they share.
package check

import (
	"math"

	"github.com/avoformer/avoformer/fault"
)

// Len returns an error unless the slice called name has want elements.
func Len(name string, x []float32, want int, shape string) error {
	if len(x) != want {
		return Errorf(fault.ErrShape, "%s has %d elements, want %d (%s)", name, len(x), want, shape)
	}
	return nil
}

// Named is a size that has a name.
type Named struct {
	name string
	n    int
}

// Size returns a size with a name.
func Size(name string, n int) Named { return Named{name, n} }

// Positive returns an error unless all sizes are at least 1.
func Positive(what string, sizes ...Named) error {
	for _, s := range sizes {
		if s.n < 1 {
			return Errorf(fault.ErrConfig, "%s: %s = %d, want at least 1", what, s.name, s.n)
		}
	}
	return nil
}

// Product returns the product of sizes, the largest int if that is too small for it.
func Product(sizes []int) int {
	n := 1
	for _, s := range sizes {
		if s > 0 && n > math.MaxInt/s {
			return math.MaxInt
		}
		n *= s
	}
	return n
}
