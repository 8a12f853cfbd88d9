package testenv

import "testing"

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
