package grammar

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

// sane fails unless err is of a kind that sources have.
func sane(t *testing.T, err error) {
	if !errors.Is(err, fault.ErrSyntax) && !errors.Is(err, fault.ErrUnsupported) && !errors.Is(err, fault.ErrTooLarge) {
		t.Fatal(err)
	}
}

// wander follows g at random and returns the text when it may end; ok is false if that does not
// happen. It fails if neither a byte may follow nor the text may end.
func wander(t *testing.T, g *Grammar, seed uint64) (text []byte, ok bool) {
	r := rand.New(rand.NewPCG(seed, 1))
	m := g.Matcher(everyByte)
	for range 60 {
		mask, err := m.Mask()
		if errors.Is(err, fault.ErrTooLarge) {
			return text, false
		} else if err != nil {
			t.Fatal(err)
		}
		if m.CanEnd() && r.IntN(8) == 0 || m.Done() {
			return text, true
		}
		var may []int
		for i := range 256 {
			if mask[i/64]>>(i%64)&1 == 1 {
				may = append(may, i)
			}
		}
		if len(may) == 0 {
			t.Fatalf("%q: nothing may follow", text)
		}
		next := may[r.IntN(len(may))]
		if err := m.Accept(next); err != nil {
			t.Fatalf("%q, then %q: %v", text, byte(next), err)
		}
		text = append(text, byte(next))
	}
	return text, m.CanEnd()
}

func FuzzRegexp(f *testing.F) {
	for _, s := range [][2]string{{"^a|b$", "a"}, {"(?i)straße{2,3}", "STRASSEE"}, {`[^a-z]*\d+?\pL`, "A12b"}, {"(?s).{0,5}x", "\nxx"}, {"(a|b)*a(a|b){9}", "abababab"}} {
		f.Add(s[0], s[1], uint64(1))
	}
	f.Fuzz(func(t *testing.T, pattern, text string, seed uint64) {
		if len(pattern) > 200 || len(text) > 200 {
			return
		}
		g, err := Regexp(pattern)
		if err != nil {
			sane(t, err)
			return
		}
		re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
		if err != nil {
			return // it is too large for package regexp
		}
		if _, whole := begins(t, g, text); utf8.ValidString(text) && whole != re.MatchString(text) {
			t.Errorf("%q of %q: %v", text, pattern, whole)
		}
		if b, ok := wander(t, g, seed); ok && !re.Match(b) {
			t.Errorf("%q of %q was allowed", b, pattern)
		}
	})
}

func FuzzGBNF(f *testing.F) {
	for _, s := range []string{
		"root ::= term (\"+\" term)*\nterm ::= [0-9]{1,3} | ( \"(\" root \")\" ) # x",
		`root ::= "a" root | x{2,} | ""` + "\n" + `x ::= [^\x00-\u00ff] . "\"\\\U0001F642"?`,
		"root ::= a b | b a\na ::= \"x\"*\nb ::= \"x\" b | \"y\"",
	} {
		f.Add(s, uint64(1))
	}
	f.Fuzz(func(t *testing.T, source string, seed uint64) {
		if len(source) > 1000 {
			return
		}
		g, err := GBNF(source)
		if err != nil {
			sane(t, err)
			return
		}
		wander(t, g, seed)
	})
}

func FuzzJSONSchema(f *testing.F) {
	for _, s := range []string{
		personSchema, `{"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#"}, "minItems": 1}}}`,
		`{"allOf": [{"required": ["a"]}, {"properties": {"a": {"enum": [1, "x", null]}}}], "anyOf": [true, {"type": "object"}]}`,
		`{"oneOf": [{"type": "number", "exclusiveMinimum": -0.5, "maximum": 1e2}, {"type": ["string"], "pattern": "^\\p{Lu}+$"}]}`,
	} {
		f.Add(s, uint64(1))
	}
	f.Fuzz(func(t *testing.T, schema string, seed uint64) {
		if len(schema) > 2000 {
			return
		}
		g, err := JSONSchema([]byte(schema))
		if err != nil {
			sane(t, err)
			return
		}
		if b, ok := wander(t, g, seed); ok && !json.Valid(b) {
			t.Errorf("%s of %s", b, schema)
		}
	})
}

// FuzzMatcher compares matchers with the oracle of oracle_test.go.
func FuzzMatcher(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		rules := drawRules(r)
		g, err := GBNF(rules.gbnf())
		if err != nil {
			t.Fatal(err)
		}
		walk(t, r, g, drawVocabulary(t, r), rules.judge)
	})
}
