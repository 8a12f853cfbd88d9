package check

import (
	"math"

	"github.com/avoformer/avoformer/fault"
)

// Finite returns a fault.ErrNotFinite that names the first NaN or infinity of x, or nil if all
// elements are finite.
func Finite(x []float32) error {
	return first(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// Logits returns an error as Finite does, except that -Inf is allowed for some elements, though not
// for all: a model may rule tokens out.
func Logits(x []float32) error {
	some := len(x) == 0
	err := first(x, func(v float64) bool {
		some = some || v > math.Inf(-1)
		return math.IsNaN(v) || math.IsInf(v, 1)
	})
	if err == nil && !some && !allFinite(x) {
		return Errorf(fault.ErrNotFinite, "all of %d logits are -Inf", len(x))
	}
	return err
}

func first(x []float32, bad func(v float64) bool) error {
	if allFinite(x) {
		return nil
	}
	for i, v := range x {
		if bad(float64(v)) {
			return Errorf(fault.ErrNotFinite, "element %d of %d is %v", i, len(x), v)
		}
	}
	return nil
}

// allFinite reports whether all elements of x are certainly finite: a finite sum has only finite
// terms. It also returns false if large numbers overflow in the sum.
func allFinite(x []float32) bool {
	var a, b, c, d float32 // four sums, which are computed in parallel
	for ; len(x) >= 8; x = x[8:] {
		y := (*[8]float32)(x)
		a, b, c, d = a+(y[0]+y[4]), b+(y[1]+y[5]), c+(y[2]+y[6]), d+(y[3]+y[7])
	}
	for _, v := range x {
		a += v
	}
	sum := (a + b) + (c + d)
	return sum-sum == 0
}
