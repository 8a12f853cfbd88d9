package grammar

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// This file tests for each kind of source which texts match, and which sources are errors.

// everyByte has a token for each byte, and an end token.
var everyByte = func() *Vocabulary {
	tokens := make([][]byte, 257)
	for i := range 256 {
		tokens[i] = []byte{byte(i)}
	}
	v, err := NewVocabulary(tokens, []int{256})
	if err != nil {
		panic(err)
	}
	return v
}()

// begins reports whether g allows text, and whether it may end there.
func begins(t testing.TB, g *Grammar, text string) (begins, whole bool) {
	t.Helper()
	m := g.Matcher(everyByte)
	for _, b := range []byte(text) {
		if err := m.Accept(int(b)); errors.Is(err, fault.ErrRefused) {
			return false, false
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return true, m.CanEnd()
}

// A source has texts that match it, and texts that do not.
type source struct {
	text    string
	yes, no []string
}

func (s source) test(t *testing.T, compile func(string) (*Grammar, error)) {
	t.Run(fmt.Sprintf("%.80s", s.text), func(t *testing.T) {
		g, err := compile(s.text)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range s.yes {
			if _, whole := begins(t, g, text); !whole {
				t.Errorf("%q does not match", text)
			}
		}
		for _, text := range s.no {
			if _, whole := begins(t, g, text); whole {
				t.Errorf("%q matches", text)
			}
		}
	})
}

// A refusal is a source that is an error, with a part of the message.
type refusal struct {
	text string
	is   error
	says string
}

func (s refusal) test(t *testing.T, compile func(string) (*Grammar, error)) {
	t.Run(fmt.Sprintf("%.80s", s.text), func(t *testing.T) {
		if _, err := compile(s.text); !errors.Is(err, s.is) || !strings.Contains(fmt.Sprint(err), s.says) {
			t.Errorf("the error is %v, want %v with %q", err, s.is, s.says)
		}
	})
}

func TestRegexp(t *testing.T) {
	for _, s := range []source{
		{`a|bc`, []string{"a", "bc"}, []string{"", "b", "abc", "ab"}},
		{`^(ab)*$`, []string{"", "abab"}, []string{"aba"}},
		{`\Ax\z`, []string{"x"}, []string{"xx"}},
		{`^a|b$`, []string{"a", "b"}, []string{"ab"}},
		{`(?i)straße|K`, []string{"STRAßE", "straẞe", "k", "K"}, []string{"strasse"}},
		{`[^a-c\n]`, []string{"d", "é", "世", "🙂", "\x00"}, []string{"a", "\n", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80"}},
		{`.{2}`, []string{"é🙂"}, []string{"\n\n", "é", "abc"}},
		{`(?s).`, []string{"\n"}, nil},
		{`\p{Greek}+`, []string{"αβγ"}, []string{"abc"}},
		{`\d{2,4}?`, []string{"12", "1234"}, []string{"1", "12345"}},
		{`x{1000}`, []string{strings.Repeat("x", 1000)}, []string{strings.Repeat("x", 999), strings.Repeat("x", 1001)}},
		{`(a?){3}(|b)`, []string{"", "aaab", "b"}, []string{"aaaa"}},
		{`(a*)*b`, []string{"b", "aaab"}, []string{"a"}},
		{``, []string{""}, []string{"a"}},
	} {
		s.test(t, Regexp)
	}
	for _, s := range []refusal{
		{`(`, fault.ErrSyntax, "missing closing"},
		{`a\bc`, fault.ErrUnsupported, `\b`},
		{`a^c`, fault.ErrUnsupported, "beginning"},
		{`(?m)^a`, fault.ErrUnsupported, "^"},
		{`(?=a)`, fault.ErrUnsupported, "(?="},
		{`x{1001}`, fault.ErrTooLarge, "1001"},
		{`((((((.{40}){40}){40}){40}){40}){40})`, fault.ErrTooLarge, ""},
		{`[^\x00-\x{10FFFF}]`, fault.ErrUnsupported, "nothing"},
		{strings.Repeat("(", 2000) + strings.Repeat(")", 2000), fault.ErrTooLarge, "nest"},
	} {
		s.test(t, Regexp)
	}
}

// TestStatesJoin verifies that equal states are merged.
func TestStatesJoin(t *testing.T) {
	for pattern, most := range map[string]int{`(?s).*`: 9, `(abc|xbc)*`: 4, `(\d{3}|\d{3}x?)`: 6} {
		if n := len(mustRegexp(t, pattern).states); n > most {
			t.Errorf("%s has %d states, want %d", pattern, n, most)
		}
	}
}

func TestGBNF(t *testing.T) {
	for _, s := range []source{
		{`root ::= "a" | "b" "c"`, []string{"a", "bc"}, []string{"ac", "b"}},
		{"# sums\nroot ::= term (\"+\" term)*\r\nterm ::=\n  [0-9]+ | ( \"(\" # nested\n  root \")\" )\n",
			[]string{"1", "1+(22+(3))"}, []string{"1+", "(1", "()"}},
		{"root ::= \"x\"\n  | other\nother ::= (\n\"y\"\n|\n\"z\" )?", []string{"x", "y", "z", ""}, []string{"xy"}},
		{`root ::= "\n\t\r\\\"\x41\u00e9\U0001F642" [\]\[^-] [^\x00-\x7f] . [a-]`,
			[]string{"\n\t\r\\\"Aé🙂]éé-", "\n\t\r\\\"Aé🙂^🙂\na"}, []string{"\n\t\r\\\"Aé🙂]aa-"}},
		{`root ::= "a"{2} "b"{1,} "c"{0,2} "d"{,1} "e"{ 1 , 2 }`, []string{"aabe", "aabbbccdee"}, []string{"aae", "aabccce", "aab", "aabddee"}},
		{`root ::= ("a" | "")* "b"+?`, []string{"", "aa", "b", "bb"}, []string{"ba"}},
		{`root ::= a root | ""` + "\n" + `a ::= [a]`, []string{"", "aaaa"}, []string{"b"}},
		{`root ::= "a" root "b" | "a" root "c" | "x"`, []string{"aaxbc", "axc"}, []string{"axbc", "ax"}},
		{`root ::= "a" root | "a" root "b" | ""`, []string{"aaab", "aaabbb", ""}, []string{"abb"}},
		{`root ::= "x" | dead` + "\n" + `dead ::= "y" dead`, []string{"x"}, []string{"y"}},
		{`root ::= ""`, []string{""}, []string{"a"}},
		{`
root ::= list # of lists and texts
list ::=
  "[" blank (
        item
    ("," blank item)*
  )? "]" blank
item ::= list | ("yes" | "no") blank | text
text ::= "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\nt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" blank
blank ::= | " " | "\n" [ \t]{0,20}`,
			[]string{`[]`, "[\n\t[yes ,\n  no] , \"a\\u00e9é\\\"\" ]\n"}, []string{`[`, `[yes,]`, `["\u00e"]`, "[\"\x7f\"]"}},
	} {
		s.test(t, GBNF)
	}
	for _, s := range []refusal{
		{``, fault.ErrSyntax, "root"},
		{`x ::= "a"`, fault.ErrSyntax, "root"},
		{`root ::= other`, fault.ErrSyntax, "other"},
		{"root ::= \"a\"\nroot ::= \"b\"", fault.ErrSyntax, "named root, line 2"},
		{"\n\nroot = x", fault.ErrSyntax, "'=', want ::=, line 3"},
		{`root ::= "a`, fault.ErrSyntax, "ends"},
		{"root ::= [a\n]", fault.ErrSyntax, "ends"},
		{`root ::= (`, fault.ErrSyntax, "want )"},
		{`root ::= "a")`, fault.ErrSyntax, "')'"},
		{`root ::= *`, fault.ErrSyntax, "'*'"},
		{`root ::= "a"{`, fault.ErrSyntax, "{m}"},
		{`root ::= "a"{,}`, fault.ErrSyntax, "{m}"},
		{`root ::= "a"{3,2}`, fault.ErrSyntax, "{3,2}"},
		{`root ::= "\q"`, fault.ErrSyntax, "'q'"},
		{`root ::= "\uD800"`, fault.ErrSyntax, "D800"},
		{`root ::= "\x4"`, fault.ErrSyntax, `4\"`},
		{`root ::= [z-a]`, fault.ErrSyntax, "'z'-'a'"},
		{"root ::= \"\xff\"", fault.ErrSyntax, "UTF-8"},
		{`root ::= <[10]>`, fault.ErrUnsupported, "tokens"},
		{`root ::= root "a" | "b"`, fault.ErrUnsupported, "root -> root"},
		{"root ::= \"x\"? y \"a\" | \"b\"\ny ::= root* \"c\"", fault.ErrUnsupported, "root -> y -> root"},
		{`root ::= "a" root`, fault.ErrUnsupported, "nothing"},
		{`root ::= "a"{999999999999}`, fault.ErrTooLarge, "times"},
		{`root ::= ("ab" "c"{200000}){200000} [a-z]{200000}`, fault.ErrTooLarge, ""},
		{"root ::= " + strings.Repeat("(", 300) + strings.Repeat(")", 300), fault.ErrTooLarge, "groups"},
		{`root ::= "a"` + strings.Repeat("*", 300), fault.ErrTooLarge, "repetitions"},
		{strings.Repeat("#", maxSource+1), fault.ErrTooLarge, "bytes"},
	} {
		s.test(t, GBNF)
	}
}
