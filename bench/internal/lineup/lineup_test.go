package lineup

import (
	"runtime"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/kernels"
)

func TestThreads(t *testing.T) {
	for list, want := range map[string][]int{"": slices.Compact([]int{1, runtime.GOMAXPROCS(0)}), "1": {1}, "2,8": {2, 8}} {
		if got, err := Threads(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("Threads(%q) = %v, %v, want %v", list, got, err, want)
		}
	}
	for _, list := range []string{"0", "1,", "two"} {
		if got, err := Threads(list); err == nil {
			t.Errorf("Threads(%q) = %v", list, got)
		}
	}
}

func TestTiers(t *testing.T) {
	for list, want := range map[string][]kernels.ISA{"": kernels.Supported(), "all": kernels.Supported(), "generic": {kernels.Generic}} {
		if got, err := Tiers(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("Tiers(%q) = %v, %v, want %v", list, got, err, want)
		}
	}
	missing := "neon"
	if runtime.GOARCH == "arm64" {
		missing = "avx2"
	}
	for _, list := range []string{missing, "generic,avx3"} {
		if got, err := Tiers(list); err == nil {
			t.Errorf("Tiers(%q) = %v", list, got)
		}
	}
}
