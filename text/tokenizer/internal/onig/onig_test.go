package onig

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// refused lists the patterns of testdata that Oniguruma takes and this package does not, since it
// does not know what they mean exactly.
var refused = []string{
	"a|", "x*", "a**", "a{0}b", "[]a]+", "[bc&-[z]]", "[a&-&&-c]", "(?x) a b",
	"(?i:st|ſ)", "(?i:s(?:s))", `(?i:\u0073s)`, "(?i:ß)", "(?i:[ß])", "(?i:ŉ)", "(?i:[[:lower:]&&[^ßﬀ-ﬆ]])+",
}

// TestCases: the places are those that Hugging Face's tokenizers find.
func TestCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Pattern, Error string
		Random         bool // made by chance: to be refused, or to be right
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
		if err != nil != (c.Error != "" || slices.Contains(refused, c.Pattern)) && !(c.Random && err != nil) {
			t.Errorf("Compile(%q): %v; tokenizers: %q", c.Pattern, err, c.Error)
		}
		if err != nil {
			continue
		}
		for _, text := range c.Texts {
			texts++
			var got [][2]int
			places := re.AppendAll(nil, []byte(text.Text))
			m := re.newMachine([]byte(text.Text))
			m.remember()
			if again := m.appendAll(nil); !slices.Equal(again, places) {
				t.Errorf("%q in %q: %v with a memory, %v without", c.Pattern, text.Text, again, places)
			}
			for _, p := range places {
				before := utf8.RuneCountInString(text.Text[:p.Start])
				got = append(got, [2]int{before, before + utf8.RuneCountInString(text.Text[p.Start:p.End])})
			}
			if !slices.Equal(got, text.Places) {
				t.Errorf("%q in %q: %v, want %v", c.Pattern, text.Text, got, text.Places)
			}
		}
	}
	if texts < 3500 {
		t.Errorf("%d texts", texts)
	}
}

// TestLinear: patterns and texts that take backtracking from the end of the text at each of its
// characters, or more ways than there are atoms, take a bounded number of steps.
func TestLinear(t *testing.T) {
	for _, c := range []struct{ pattern, text string }{
		{"(?:a|aa)+b", "a"},
		{"a+b|a", "a"},
		{`(?:a+a+)+(?:a+a+)+b`, "a"},
		{`\s+(?!\s)x|y`, " "},
		{`(?:\w+\s?)+!`, "a b"},
		{strings.Repeat("a?", 30) + strings.Repeat("a", 30) + "b", "a"},
		{"(?:" + strings.Repeat("a|", 99) + "a)(?=a{999}b)c", "a"},
		{strings.Repeat("(?:a|aa){0,9}", 9) + "a{99}b", "a"},
		{"(?:a|aa){9}(?=a{0,99}|b)", "a"},
		{"(?>a*)b|c", "a"},
		{"(?>(?:a|aa)+)b|(?:aa?)++b", "a"},
		{"(?=a+b)a|(?!a*(?>a+))a", "a"},
		{`\X*+b|(?=\X+b)a`, "a\u0301"},
	} {
		re, err := Compile(c.pattern)
		if err != nil {
			t.Fatal(c.pattern, err)
		}
		text := []byte(strings.Repeat(c.text, 20_000))
		m := re.newMachine(text)
		matches := len(m.appendAll(nil))
		if want := map[string]int{"a+b|a": len(text), "(?:a|aa){9}(?=a{0,99}|b)": len(text) / 9}[c.pattern]; matches != want {
			t.Errorf("%s: %d matches, want %d", c.pattern, matches, want)
		}
		if most := usualSteps + len(text)*(usualStepsByte+2*len(re.program)); m.steps > most {
			t.Errorf("%s: %d steps, want at most %d", c.pattern, m.steps, most)
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
				t.Fatalf("%q in %q: %v after %d", pattern, text, p, done)
			}
			done = p.End
		}
	})
}
