package tokenizer

import (
	"slices"
	"strings"
	"testing"
)

// TestBehaviors: what becomes of delimiters, two of which stand side by side.
func TestBehaviors(t *testing.T) {
	for name, want := range map[string]string{
		"Removed": "the|final|countdown", "Isolated": "the|-|final|-|-|countdown", "MergedWithPrevious": "the-|final-|-|countdown",
		"MergedWithNext": "the|-final|-|-countdown", "Contiguous": "the|-|final|--|countdown",
	} {
		w := new(work)
		w.reset("the-final--countdown", true)
		(&splitAt{pattern: literal("-"), behavior: behaviors[name]}).cut(w)
		var got []string
		for _, s := range w.splits {
			got = append(got, string(w.text[s.start:s.end]))
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%s: %s, want %s", name, s, want)
		}
	}
}

// TestPrefixSpace: the space that was put in front is not part of the text, so it is not taken off
// the first token's offsets.
func TestPrefixSpace(t *testing.T) {
	tok := *open(t, "roberta")
	tok.pre = byteLevel{prefixSpace: true, pattern: true}
	post := *tok.post.(*bertProcessing)
	post.prefixSpace = true
	tok.post = &post
	e, err := tok.Encode("the the  the", Options{NoSpecial: true, Offsets: Bytes})
	if err != nil {
		t.Fatal(err)
	}
	if want := []Offset{{0, 3}, {4, 7}, {8, 8}, {9, 12}}; !slices.Equal(e.Offsets, want) {
		t.Errorf("offsets %v, want %v", e.Offsets, want)
	}
}
