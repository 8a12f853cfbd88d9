package tokenizer

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLossy decodes bytes at all borders of UTF-8, up to four of them, and compares with the
// definition: the longest beginning of any character is one U+FFFD, or a byte that begins none.
func TestLossy(t *testing.T) {
	begins := map[string]bool{}
	for r := rune(0x80); r <= utf8.MaxRune; r++ {
		if s := string(r); utf8.ValidRune(r) {
			for n := 1; n < len(s); n++ {
				begins[s[:n]] = true
			}
		}
	}
	want := func(s string) string {
		var out strings.Builder
		for s != "" {
			n := 1
			if _, size := utf8.DecodeRuneInString(s); utf8.ValidString(s[:size]) {
				out.WriteString(s[:size])
				n = size
			} else {
				for n < len(s) && begins[s[:n+1]] {
					n++
				}
				out.WriteString("\ufffd")
			}
			s = s[n:]
		}
		return out.String()
	}
	const borders = "a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff"
	var try func(s string, more int)
	try = func(s string, more int) {
		if got := lossy([]byte(s)); got != want(s) {
			t.Fatalf("%q: %q, want %q", s, got, want(s))
		}
		if more > 0 {
			for i := range len(borders) {
				try(s+borders[i:i+1], more-1)
			}
		}
	}
	try("", 4)
}
