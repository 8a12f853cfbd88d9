package onig

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// refused lists the patterns of testdata that Oniguruma takes and this package does
// not, since it does not know what they mean exactly.
var refused = []string{
	"a|", "x*", "a**", "(?<name>a)", "(?i)a", "(?>ab|a)b", `\ba`, `\Aa`, "a{0}b", "[]a]+",
}

// TestCases: the places are those that Hugging Face's tokenizers find.
func TestCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Pattern, Error string
		Texts          []struct {
			Text   string
			Places [][2]int
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, c := range cases {
		re, err := Compile(c.Pattern)
		if err != nil != (c.Error != "" || slices.Contains(refused, c.Pattern)) {
			t.Errorf("Compile(%q): %v; tokenizers: %q", c.Pattern, err, c.Error)
		}
		if err != nil {
			continue
		}
		for _, text := range c.Texts {
			texts++
			var got [][2]int
			for _, p := range re.AppendAll(nil, []byte(text.Text)) {
				before := utf8.RuneCountInString(text.Text[:p.Start])
				got = append(got, [2]int{before, before + utf8.RuneCountInString(text.Text[p.Start:p.End])})
			}
			if !slices.Equal(got, text.Places) {
				t.Errorf("%q in %q: %v, want %v", c.Pattern, text.Text, got, text.Places)
			}
		}
	}
	if texts < 2000 {
		t.Errorf("%d texts", texts)
	}
}

// TestLinear: patterns and texts that take backtracking from the end of the text at
// each of its characters, or more ways than there are atoms, take a moment.
func TestLinear(t *testing.T) {
	start := time.Now()
	for _, c := range []struct{ pattern, text string }{
		{"(?:a|aa)+b", "a"},
		{"a+b|a", "a"},
		{`(?:a+a+)+(?:a+a+)+b`, "a"},
		{`\s+(?!\s)x|y`, " "},
		{`(?:\w+\s?)+!`, "a b"},
		{strings.Repeat("a?", 30) + strings.Repeat("a", 30) + "b", "a"},
	} {
		re, err := Compile(c.pattern)
		if err != nil {
			t.Fatal(c.pattern, err)
		}
		text := []byte(strings.Repeat(c.text, 50_000))
		if got := re.AppendAll(nil, text); c.pattern != "a+b|a" && len(got) > 0 {
			t.Errorf("%s: %d matches", c.pattern, len(got))
		} else if c.pattern == "a+b|a" && len(got) != len(text) {
			t.Errorf("%s: %d matches, want %d", c.pattern, len(got), len(text))
		}
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("%v", d)
	}
}

// TestMemory: what has failed is remembered right: the places are the same whether
// it is remembered from the start or never.
func TestMemory(t *testing.T) {
	for _, pattern := range []string{"(?:a|ab)(?:c|bcd)(?!d)|b", `\s+(?!\S)|\s+|\S+?(?=b)`, "(?:a|b|ab)*c|a"} {
		re, err := Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"abcabcdab cd  b aab", "aaab  abcd", "ababababc abab"} {
			want := re.AppendAll(nil, []byte(text))
			m := &machine{program: re.program, splits: re.splits, text: []byte(text), failed: make([]uint64, re.splits*(len(text)+1)/64+1)}
			var got []Place
			for at := int32(0); int(at) < len(text); {
				end := m.match(0, at)
				if end < 0 {
					at++
					continue
				}
				got = append(got, Place{at, end})
				at = end
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s in %q: %v, want %v", pattern, text, got, want)
			}
		}
	}
}

func FuzzRegexp(f *testing.F) {
	for _, p := range []string{`\s+(?!\S)|\s+`, "(?:a|aa)+b", `[^\r\n[a-z]&&\p{L}]{1,3}+`, `(?i:'s|ve)|(?<!a)\x{62}`} {
		f.Add(p, "ab 's VE\n")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := Compile(pattern)
		if err != nil {
			return
		}
		done := int32(0)
		for _, p := range re.AppendAll(nil, []byte(text)) {
			if p.Start < done || p.End <= p.Start || int(p.End) > len(text) {
				t.Fatalf("%q in %q: %v behind %d", pattern, text, p, done)
			}
			done = p.End
		}
	})
}
