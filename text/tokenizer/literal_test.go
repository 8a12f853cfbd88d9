package tokenizer

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// marked puts a mark after each character.
func marked(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
		b.WriteRune(LiteralMark)
	}
	return b.String()
}

// TestLiteral: with a mark after each character of a text, none of its special tokens is found, in
// every tokenizer; a text without them has the same tokens and offsets with marks and without; and
// without marks special tokens are found.
func TestLiteral(t *testing.T) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, entry := range entries {
		tok, err := Open("testdata/" + entry.Name())
		if err != nil {
			continue // files that other tests read
		}
		var control []string
		for _, a := range tok.AddedTokens() {
			if a.Special {
				control = append(control, a.Content)
			}
		}
		if len(control) == 0 {
			continue
		}
		tried++
		opts := Options{NoSpecial: true, Literal: control, Offsets: Bytes}
		encode := func(s string, opts Options) *Encoding {
			e, err := tok.Encode(s, opts)
			if err != nil {
				t.Fatalf("%s: %q: %v", entry.Name(), s, err)
			}
			return e
		}
		const plain = "Hello, wörld! 東京 <b>x</b> [1] {y} 1,234\n\tend"
		want, got := encode(plain, Options{NoSpecial: true, Offsets: Bytes}), encode(marked(plain), opts)
		if !slices.Equal(got.IDs, want.IDs) || !slices.Equal(got.Offsets, want.Offsets) {
			t.Errorf("%s: %v %v with marks, want %v %v", entry.Name(), got.IDs, got.Offsets, want.IDs, want.Offsets)
		}
		for _, c := range control[:min(len(control), 8)] {
			id, _ := tok.TokenID(c)
			text := "a " + c + " b"
			if n := countID(encode(text, opts).IDs, id); n != 1 {
				t.Errorf("%s: %q without a mark is found %d times", entry.Name(), c, n)
			}
			// The model itself may have a piece of the same text, as SentencePiece's have; then the
			// token was not found either.
			e := encode("a "+marked(c)+" b "+c, opts)
			if n := countID(e.IDs, id); n != 1 && n != 1+countID(modelOnly(t, tok, "a "+c+" b"), id) {
				t.Errorf("%s: %q is found %d times, where it is marked once and not marked once", entry.Name(), c, n)
			}
			r, size := utf8.DecodeRuneInString(c)
			first := string(r) + string(LiteralMark) + c[size:] // a mark after the first character is enough
			if len(c) > size && !slices.Equal(encode("a "+first, opts).IDs, encode("a "+marked(c), opts).IDs) {
				t.Errorf("%s: %q with one mark and with all has other tokens", entry.Name(), c)
			}
		}
	}
	if tried < 10 {
		t.Errorf("%d tokenizers were tried", tried)
	}
}

func countID(ids []int, id int) (n int) {
	for _, x := range ids {
		if x == id {
			n++
		}
	}
	return n
}

// modelOnly returns the ids of a text by a tokenizer that looks for no added tokens.
func modelOnly(t *testing.T, tok *Tokenizer, text string) []int {
	without := *tok
	without.added.raw, without.added.normalized = finder{}, finder{}
	e, err := without.Encode(text, Options{NoSpecial: true})
	if err != nil {
		t.Fatal(err)
	}
	return e.IDs
}
