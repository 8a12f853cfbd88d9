package text

import (
	"errors"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestEmbedTokens takes the mean of the tokens' vectors, which is what the folder's pooling is.
func TestEmbedTokens(t *testing.T) {
	e, err := OpenEmbedder("testdata/embed", Options{})
	if err != nil {
		t.Fatal(err)
	}
	inputs := Texts("hello world", "the cat reads", "Paris.")
	want, wanted, err := counted(e.Embed(t.Context(), inputs, EmbedOptions{Scale: ScaleRaw}))
	if err != nil {
		t.Fatal(err)
	}
	got, counts, err := counted(e.EmbedTokens(t.Context(), inputs, EmbedOptions{}))
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
	if _, err := e.EmbedTokens(t.Context(), inputs, EmbedOptions{Prompt: "none"}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("a prompt that the folder lacks: %v", err)
	}
	split, err := OpenEmbedder("testdata/embed", Options{MaxLength: 4, Long: LongSplit})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := split.EmbedTokens(t.Context(), inputs, EmbedOptions{}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("several windows: %v", err)
	}
}
