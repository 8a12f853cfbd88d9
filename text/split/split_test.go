package split_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/split"
	"github.com/avoformer/avoformer/text/tokenizer"
)

const document = "Before.\n\n# Bread\n\nThe dough rests. It rises, e.g. overnight, at 4.5 degrees! (\"Why?\") Because.\n\n## Ovens ##\n\n```\n# no heading\n```\nBake it\n\n#hash\n# Oil\nÄpfel。油。"

func texts(parts []split.Part) (all []string) {
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return all
}

func TestMarkdown(t *testing.T) {
	got := ""
	for _, p := range split.Markdown(document) {
		got += fmt.Sprintf("%q %d;", p.Headings, len(p.Text))
	}
	if want := `[] 7;["Bread"] 85;["Bread" "Ovens"] 48;["Oil"] 21;`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSentences(t *testing.T) {
	want := []string{"Before.", "# Bread", "The dough rests.", "It rises, e.g. overnight, at 4.5 degrees!", `("Why?")`, "Because.", "## Ovens ##", "```\n# no heading\n```\nBake it", "#hash\n# Oil\nÄpfel。", "油。"}
	if got := texts(split.Sentences(document)); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTokens: no part has more tokens than were asked for, where a character has no more, and parts
// are as long as they can be.
func TestTokens(t *testing.T) {
	k, err := tokenizer.Open("../examples/models/embed")
	if err != nil {
		t.Fatal(err)
	}
	count := func(s string) int {
		e, err := k.Encode(s, tokenizer.Options{NoSpecial: true})
		if err != nil {
			t.Fatal(err)
		}
		return len(e.IDs)
	}
	before := 1 << 20
	for _, most := range []int{1, 3, 12, 40, 1000} {
		parts, err := split.Tokens(k, document, most)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			if n := count(p.Text); n > most {
				t.Errorf("%q has %d tokens, want at most %d", p.Text, n, most)
			}
		}
		check(t, document, parts)
		if len(parts) > before {
			t.Errorf("%d parts of %d tokens, %d of fewer", len(parts), most, before)
		}
		before = len(parts)
	}
	if before != 1 {
		t.Errorf("%d parts of all", before)
	}
	if _, err := split.Tokens(k, document, 0); !errors.Is(err, fault.ErrOption) {
		t.Error("no tokens")
	}
}

// check: parts stand where they say, in order, and hold all of the document but white space.
func check(t *testing.T, document string, parts []split.Part) {
	t.Helper()
	space := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, s)
	}
	at, all := 0, ""
	for _, p := range parts {
		if p.Start < at || p.End > len(document) || document[p.Start:p.End] != p.Text || p.Text == "" {
			t.Errorf("%+v after byte %d", p, at)
		}
		at, all = p.End, all+p.Text
	}
	if utf8.ValidString(document) && space(all) != space(document) {
		t.Errorf("%q, want %q", space(all), space(document))
	}
}

func FuzzSplit(f *testing.F) {
	k, err := tokenizer.Open("../examples/models/embed")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(document, 3)
	f.Add("\xff# a\n~~~\n", 1)
	f.Fuzz(func(t *testing.T, s string, most int) {
		check(t, s, split.Markdown(s))
		check(t, s, split.Sentences(s))
		if parts, err := split.Tokens(k, s, max(1, most%50)); err == nil {
			check(t, s, parts)
		}
	})
}

func ExampleMarkdown() {
	for _, p := range split.Markdown("# Bread\nLet it rise.\n## Ovens\nBake it.\n") {
		fmt.Printf("%d %v %q\n", p.Start, p.Headings, p.Text)
	}
	// Output:
	// 0 [Bread] "# Bread\nLet it rise."
	// 21 [Bread Ovens] "## Ovens\nBake it."
}

func ExampleSentences() {
	for _, p := range split.Sentences("It rises at 4.5 degrees. Bake it!") {
		fmt.Println(p.Start, p.Text)
	}
	// Output:
	// 0 It rises at 4.5 degrees.
	// 25 Bake it!
}

func ExampleTokens() {
	k, err := tokenizer.Open("../examples/models/embed") // the model's own, as Embedder.Tokenizer gives it
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := split.Tokens(k, "The bread rises. The oven is hot. Bake it until it is dark.", 12)
	for _, p := range parts {
		fmt.Println(p.Start, p.Text)
	}
	fmt.Println(err)
	// Output:
	// 0 The bread rises. The oven is hot.
	// 34 Bake it until it is dark.
	// <nil>
}

// TestTokensOfLongSentence: a text without an end of a sentence is tokenized once, not once again
// from each part to its end.
func TestTokensOfLongSentence(t *testing.T) {
	k, err := tokenizer.Open("../examples/models/embed")
	if err != nil {
		t.Fatal(err)
	}
	taken := func(n int) uint64 {
		long := strings.Repeat("the dough rests in a warm place ", n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		parts, err := split.Tokens(k, long, 50)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		check(t, long, parts)
		return after.TotalAlloc - before.TotalAlloc
	}
	if one, eight := taken(200), taken(1600); eight > 16*one {
		t.Errorf("a text takes %d bytes, one of eight times its length %d", one, eight)
	}
}
