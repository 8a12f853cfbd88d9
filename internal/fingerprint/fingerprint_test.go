package fingerprint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/kernels"
)

// TestNew: no part of a fingerprint contains the separator.
func TestNew(t *testing.T) {
	got := strings.Split(New("0123456789abcdef0123456789abcdef", "int8+12345678"), "-")
	if len(got) != 3 || got[0] != "0123456789abcdef0123" || got[1] != "int8+12345678" || got[2] != fmt.Sprint(kernels.Numerics) {
		t.Errorf("%q", got)
	}
}

// TestDifference names each part that differs.
func TestDifference(t *testing.T) {
	for _, c := range []struct{ stored, now, want string }{
		{"a-f32-1", "a-f32-1", ""},
		{"a-f32-1", "b-f32-1", "the model was a, now it is b"},
		{"a-f32-1", "a-int8-2", "the format was f32, now it is int8; the version of the numerics was 1, now it is 2"},
		{"", "a-f32-1", "there was no fingerprint, now it is a-f32-1"},
		{"a-f32", "a-f32-1", `the fingerprint is "a-f32", now it is "a-f32-1"`},
	} {
		if got := Difference(c.stored, c.now); got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.stored, c.now, got, c.want)
		}
	}
}
