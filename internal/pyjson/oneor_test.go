package pyjson_test

import (
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/pyjson"
)

// TestOneOr reads values, lists, and JSON that is neither.
func TestOneOr(t *testing.T) {
	for text, want := range map[string][]int{`3`: {3}, `[]`: {}, `[4, 5]`: {4, 5}, `null`: {9}, `"3"`: nil, `[4, "5"]`: nil, `{}`: nil} {
		got := pyjson.OneOr[int]{9}
		if err := pyjson.Unmarshal([]byte(text), &got); (err != nil) != (want == nil) || err == nil && !slices.Equal(got, want) {
			t.Errorf("%s: %v, error %v, want %v", text, got, err, want)
		}
	}
}
