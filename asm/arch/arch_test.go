package arch

import (
	"strings"
	"testing"
)

// TestCheck breaks a record in each way that Check knows.
func TestCheck(t *testing.T) {
	for _, tier := range Tiers {
		if err := tier.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, test := range []struct {
		want  string
		spoil func(*Tier)
	}{
		{"must be given", func(t *Tier) { t.GOARCH = "" }},
		{"do not go together", func(t *Tier) { t.Gemm.NR++ }},
		{"no registers", func(t *Tier) { t.Vectors = nil }},
		{"does not ask the system", func(t *Tier) { t.State = "bits 17 and 18 of XCR0" }},
		{"has no rows", func(t *Tier) { t.Integers.Rows = 0 }},
		{"has a zero", func(t *Tier) { t.Blocking.GemvRows = 0 }},
	} {
		tier := AVX2
		test.spoil(&tier)
		if err := tier.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one with %q", err, test.want)
		}
	}
}
