package text

import (
	"errors"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestEmbedTokens takes the mean of the tokens' vectors, which is what the folder's pooling is.
func TestEmbedTokens(t *testing.T) {
	e, err := OpenEmbedder("testdata/embed")
	if err != nil {
		t.Fatal(err)
	}
	inputs := Texts([]string{"hello world", "the cat reads", "Paris."})
	want, wanted, err := e.EmbedInputs(t.Context(), inputs, EmbedOptions{Scale: ScaleRaw})
	if err != nil {
		t.Fatal(err)
	}
	got, counts, err := e.EmbedTokens(t.Context(), inputs, "", InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, tokens := range got {
		if len(tokens) != wanted.Tokens[i] || counts.Tokens[i] != wanted.Tokens[i] {
			t.Fatalf("text %d has %d tokens, want %d", i, len(tokens), wanted.Tokens[i])
		}
		for j := range want[i] {
			sum := float32(0)
			for _, v := range tokens {
				sum += v[j]
			}
			if d := sum/float32(len(tokens)) - want[i][j]; !(d > -1e-4 && d < 1e-4) {
				t.Fatalf("text %d: the mean of element %d is %g off", i, j, d)
			}
		}
	}
	if _, _, err := e.EmbedTokens(t.Context(), inputs, "none", InputOptions{}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("a prompt that the folder lacks: %v", err)
	}
	split, err := OpenEmbedder("testdata/embed", MaxLength(4), SplitLong(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := split.EmbedTokens(t.Context(), inputs, "", InputOptions{}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("several windows: %v", err)
	}
}
