package check

import (
	"math"
	"strings"
	"testing"
)

// TestBetween: an error names the bound that a number exceeds.
func TestBetween(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		has, most float64
		want      string
	}{
		{0, 1, ""}, {1, 1, ""}, {2, 1, "want 0 to 1"}, {-1, 1, "want 0 to 1"}, {-1, math.MaxInt32, "want at least 0"},
		{math.NaN(), math.MaxInt32, "want at least 0"}, {1 << 32, math.MaxInt32, "4294967296: want 0 to 2147483647"}, {1.5, 1, "1.5: want 0 to 1"}, {math.Inf(1), math.MaxFloat32, "want 0 to 3.4"},
	} {
		err := Between("N", x.has, 0, x.most)
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%g of %g: %v, want %q", x.has, x.most, err, x.want)
		}
	}
}
