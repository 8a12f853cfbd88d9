package search

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestCheckFingerprint verifies that an index from a file with a fingerprint cannot be used before
// CheckFingerprint, which accepts only the same fingerprint.
func TestCheckFingerprint(t *testing.T) {
	const own = "model-f32-2"
	of := func(fingerprint string) *Index {
		x, err := Read(bytes.NewReader(written(t, small(t, Options{Fingerprint: fingerprint}))), 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Options().Fingerprint; got != fingerprint {
			t.Fatalf("fingerprint %q, want %q", got, fingerprint)
		}
		return x
	}
	query := [][]float32{{1, 2, 3}}
	use := func(x *Index) error {
		_, err := x.Search(t.Context(), query, 1)
		return errors.Join(err, x.Add([]int64{1}, query), x.Replace([]int64{1}, query))
	}
	for _, c := range []struct {
		index, match string
		says         string // the error of CheckFingerprint; "": none
	}{
		{own, own, ""}, {own, AnyFingerprint, ""}, {"", "", ""}, {"", AnyFingerprint, ""},
		{own, "model-int8-3", "the format was f32, now it is int8; the version of the numerics was 2, now it is 3"},
		{own, "other-f32-2", "the model was model, now it is other"},
		{own, "", "fingerprint"}, {"", own, "there was no fingerprint"},
	} {
		x := of(c.index)
		if c.index != "" {
			x := of(c.index)
			_, search := x.Search(t.Context(), query, 1)
			for what, err := range map[string]error{"Search": search, "Add": x.Add([]int64{1}, query), "Replace": x.Replace([]int64{1}, query)} {
				if !errors.Is(err, fault.ErrOtherResults) {
					t.Errorf("%s before CheckFingerprint: %v", what, err)
				}
			}
			if x.Len() != 2 {
				t.Errorf("%d vectors after refusals, want 2", x.Len())
			}
		}
		err := x.CheckFingerprint(c.match)
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, fault.ErrOtherResults) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%q in an index of %q: %v, want %q", c.match, c.index, err, c.says)
		}
		if used := use(x); c.says == "" && used != nil || c.says != "" && c.index != "" && !errors.Is(used, fault.ErrOtherResults) {
			t.Errorf("%q in an index of %q: %v after CheckFingerprint said %v", c.match, c.index, used, err)
		}
	}
	if err := use(small(t, Options{Fingerprint: own})); err != nil {
		t.Errorf("an index that was not loaded: %v", err)
	}
	for _, bad := range []string{"a b", "\n", "\u00e9", strings.Repeat("a", 256)} {
		if _, err := New(3, Options{Fingerprint: bad}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("fingerprint %q: %v", bad, err)
		}
	}
}
