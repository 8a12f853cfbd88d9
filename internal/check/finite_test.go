package check

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestFinite puts one NaN or infinity at each place of slices of several lengths.
func TestFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, n := range []int{0, 1, 7, 8, 9, 31, 64} {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i) - 3
		}
		if err := errors.Join(Finite(x), Logits(x)); err != nil {
			t.Errorf("%d numbers: %v", n, err)
		}
		for i := range x {
			kept := x[i]
			for _, v := range []float32{nan, inf, -inf} {
				x[i] = v
				if err := Finite(x); !errors.Is(err, fault.ErrNotFinite) {
					t.Errorf("%v at %d of %d: %v", v, i, n, err)
				}
				if err, want := Logits(x), v != -inf || n == 1; errors.Is(err, fault.ErrNotFinite) != want {
					t.Errorf("a logit %v at %d of %d: %v", v, i, n, err)
				}
			}
			x[i] = kept
		}
	}
	const most = math.MaxFloat32
	large := []float32{most, most, most, most, most, most, most, most, -most, most} // whose sum overflows
	if err := errors.Join(Finite(large), Logits(large)); err != nil {
		t.Error("large numbers:", err)
	}
	if err := Finite([]float32{1, nan, inf}); err == nil || err.Error() != "the model's output is not finite: element 1 of 3 is NaN" {
		t.Error(err)
	}
}

// BenchmarkFinite measures a vector, the hidden states of a text of 512 tokens, and the logits of a
// large vocabulary.
func BenchmarkFinite(b *testing.B) {
	for _, n := range []int{384, 512 * 768, 152_000} {
		x := make([]float32, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(4 * n))
			for b.Loop() {
				if err := Finite(x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
