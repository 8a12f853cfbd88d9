package testenv

import (
	"strings"
	"testing"
)

type isa string

func (i isa) String() string { return string(i) }

func TestRequire(t *testing.T) {
	for _, c := range []struct {
		list string
		ok   bool
	}{
		{"", true},
		{"generic", true},
		{"avx2,generic", true},
		{"avx512", false},
		{"generic,avx512", false},
		{"AVX2", false},
	} {
		t.Run(c.list, func(t *testing.T) {
			err := require(c.list, []isa{"generic", "avx2"})
			if (err == nil) != c.ok {
				t.Errorf("require(%q) = %v, want ok %t", c.list, err, c.ok)
			}
		})
	}
}

func TestRuns(t *testing.T) {
	const all = "generic,avx2,avx512"
	for _, c := range []struct {
		set    string // the variable that is set
		active isa
		want   string
	}{
		{"", "avx2", all},
		{"AVOFORMER_ISA", "avx2", "avx2"},
		{"AVOFORMER_EMULATED", "avx2", "avx2"},
		{"AVOFORMER_ASSEMBLY", "avx2", "avx2,avx512"},
		{"AVOFORMER_ASSEMBLY", "generic", all},
	} {
		t.Run(c.set+" "+string(c.active), func(t *testing.T) {
			for _, name := range []string{"AVOFORMER_ISA", "AVOFORMER_EMULATED", "AVOFORMER_ASSEMBLY"} {
				t.Setenv(name, "")
			}
			if c.set != "" {
				t.Setenv(c.set, "1")
			}
			var runs []string
			for _, tier := range strings.Split(all, ",") {
				if Runs(tier, c.active.String()) {
					runs = append(runs, tier)
				}
			}
			if got := strings.Join(runs, ","); got != c.want {
				t.Errorf("tests run on %s, want %s", got, c.want)
			}
		})
	}
}
