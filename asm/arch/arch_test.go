package arch

import (
	"strings"
	"testing"
)

// TestCheck breaks a record in each way that Check detects.
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
		{"does not fit the tile", func(t *Tier) { t.Gemm.NR++ }},
		{"no registers", func(t *Tier) { t.Vectors = nil }},
		{"does not ask the system", func(t *Tier) { t.State = XCR0Tiles }}, // a state that only features ask for
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

// TestCheckFeature breaks a feature in each way that Check detects.
func TestCheckFeature(t *testing.T) {
	if err := AMX.Check(); err != nil {
		t.Error(err)
	}
	for _, test := range []struct {
		want  string
		spoil func(*Feature)
	}{
		{"must be given", func(f *Feature) { f.Suffix = "" }},
		{"does not ask the system", func(f *Feature) { f.State = "bit 9 of XCR0" }},
		{"does not ask the system", func(f *Feature) { f.State = XCR0EVX }}, // a state that only tiers ask for
		{"leaves by []", func(f *Feature) { f.Leave = nil }},
		{"enters by \"\"", func(f *Feature) { f.Enter = "" }},
	} {
		f := AMX
		test.spoil(&f)
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one with %q", err, test.want)
		}
	}
}
