package bulk

import (
	"math"
	"slices"
	"testing"
)

// TestVectors compares vectors in fewer bits with values by hand, and bounds the error.
func TestVectors(t *testing.T) {
	x := []float32{1, -2, 0.5, 0, 2, -0.25, 1.5, 0.01, -1}
	q, scale := quantize(x)
	for i, v := range x {
		if d := math.Abs(float64(v) - float64(q[i])*float64(scale)); d > float64(scale)*0.5001 {
			t.Errorf("element %d is off by %g, a step is %g", i, d, scale)
		}
	}
	if q[1] != -127 || q[4] != 127 {
		t.Errorf("the largest are %d and %d, want -127 and 127", q[1], q[4])
	}
	bits, mean := signs(x)
	if want := []byte{0b10101011, 0}; !slices.Equal(bits, want) {
		t.Errorf("signs %08b, want %08b", bits, want)
	}
	if want := float32(8.26 / 9); math.Abs(float64(mean-want)) > 1e-6 {
		t.Errorf("mean magnitude %g, want %g", mean, want)
	}
	if q, scale := quantize(make([]float32, 3)); scale != 0 || !slices.Equal(q, make([]int8, 3)) {
		t.Errorf("zeros become %d times %g", q, scale)
	}
}
