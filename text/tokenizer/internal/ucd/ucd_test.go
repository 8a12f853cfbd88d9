package ucd

import (
	"slices"
	"testing"
)

func TestGrapheme(t *testing.T) {
	for _, x := range []struct {
		text string
		want []string
	}{
		{"ab", []string{"a", "b"}},
		{"\r\n\n\r", []string{"\r\n", "\n", "\r"}},
		{"e\u0301\u0316x", []string{"e\u0301\u0316", "x"}},
		{"\n\u0301", []string{"\n", "\u0301"}},
		{"🇫🇷🇩🇪🇫a", []string{"🇫🇷", "🇩🇪", "🇫", "a"}},
		{"👩‍👩‍👧👍🏽", []string{"👩‍👩‍👧", "👍🏽"}},
		{"👩\u200da", []string{"👩\u200d", "a"}},
		{"a\u200d👩", []string{"a\u200d", "👩"}},
		{"\u1112\u1161\u11ab\u1100", []string{"\u1112\u1161\u11ab", "\u1100"}},
		{"각\u11a8", []string{"각\u11a8"}},
		{"क्षि", []string{"क्षि"}},
		{"क\u200dष", []string{"क\u200d", "ष"}},
		{"\u0600a", []string{"\u0600a"}},
		{"กำ", []string{"กำ"}},
	} {
		var got []string
		for s := []byte(x.text); len(s) > 0; {
			n := Grapheme(s)
			got = append(got, string(s[:n]))
			s = s[n:]
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("graphemes of %q: %q, want %q", x.text, got, x.want)
		}
	}
}

func TestForms(t *testing.T) {
	for _, x := range []struct {
		text, c, d, kc, kd string
	}{
		{"é", "é", "e\u0301", "é", "e\u0301"},
		{"e\u0301", "é", "e\u0301", "é", "e\u0301"},
		{"e\u0316\u0301", "é\u0316", "e\u0316\u0301", "é\u0316", "e\u0316\u0301"},
		{"e\u0301\u0316", "é\u0316", "e\u0316\u0301", "é\u0316", "e\u0316\u0301"},
		{"ﬁ²", "ﬁ²", "ﬁ²", "fi2", "fi2"},
		{"Å", "Å", "A\u030a", "Å", "A\u030a"},
		{"\u1112\u1161\u11ab", "한", "\u1112\u1161\u11ab", "한", "\u1112\u1161\u11ab"},
		{"한", "한", "\u1112\u1161\u11ab", "한", "\u1112\u1161\u11ab"},
		{"\u0958", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c", "\u0915\u093c"},
		{"\u0301a", "\u0301a", "\u0301a", "\u0301a", "\u0301a"},
	} {
		for i, f := range []Form{FormC, FormD, FormKC, FormKD} {
			var got []rune
			sum := 0 // characters of text that the changes account for
			for _, c := range f.Append(nil, []rune(x.text)) {
				got = append(got, c.R)
				sum += 1 - c.N
			}
			want := []string{x.c, x.d, x.kc, x.kd}[i]
			if string(got) != want {
				t.Errorf("form %d of %q: %q, want %q", i, x.text, string(got), want)
			}
			if sum != len([]rune(x.text)) {
				t.Errorf("form %d of %q: the changes account for %d characters", i, x.text, sum)
			}
		}
	}
}

func TestProperties(t *testing.T) {
	table := Properties()
	for _, x := range []struct {
		r    rune
		want Props // of these two
		of   Props
	}{
		{'a', L | Ll | Word | RustWord, L | Ll | Word | RustWord | White | N},
		{' ', White, White | L | Word},
		{'\u0085', White | Control, White | Control},
		{'\u200b', Control, White | Control},
		{'5', N | Digit | Numeric, N | Digit | Numeric | L},
		{'²', N | Numeric | Word, N | Numeric | Digit | Word | RustWord},
		{'!', P | Punct, P | Punct | S},
		{'$', S | Punct, P | Punct | S},
		{'\u0301', M | Nonspacing | Combining | NFC | NFD | NFKC | NFKD, M | Nonspacing | Combining | NFC | NFD | NFKC | NFKD},
		{'é', NFD | NFKD, NFC | NFD | NFKC | NFKD},
		{0x10FFFF, 0, L | N | P | S | M},
		{-1, 0, ^Props(0)},
		{0x110000, 0, ^Props(0)},
	} {
		if got := table.Of(x.r) & x.of; got != x.want {
			t.Errorf("properties of %U: %b, want %b", x.r, got, x.want)
		}
	}
	if got := string(Lower()['İ']); got != "i\u0307" {
		t.Errorf("lower case of İ: %q", got)
	}
}

// TestNamed: names as Oniguruma reads them.
func TestNamed(t *testing.T) {
	for _, x := range []struct {
		name    string
		in, out rune
	}{
		{"Han", '中', 'の'}, {"hiragana", 'の', '中'}, {"Nd", '٣', '²'}, {" Decimal-Number_", '٣', '²'},
		{"punct", '!', '+'}, {":punct", '+', 'a'}, {":alpha", 'é', '1'}, {"sc", '€', 'a'}, {"Cyrillic", 'ж', 'a'}, {"Nl", 'Ⅷ', '8'}, {"Pc", '_', '-'}, {"Cc", '\t', ' '},
	} {
		runs, ok := Named(x.name)
		has := func(r rune) bool {
			return slices.ContainsFunc(runs, func(run Run) bool { return run.First <= r && r < run.End })
		}
		if !ok || !has(x.in) || has(x.out) {
			t.Errorf("%s: %t, has %c: %t, has %c: %t", x.name, ok, x.in, has(x.in), x.out, has(x.out))
		}
	}
	if _, ok := Named("Klingon"); ok {
		t.Error("a name of nothing")
	}
	same, several := Cases()
	if !slices.Equal(same['k'], []rune{'K', 'k', '\u212a'}) || same['1'] != nil || !several['ß'] || several['é'] {
		t.Errorf("k: %c, ß: %t, é: %t", same['k'], several['ß'], several['é'])
	}
}
