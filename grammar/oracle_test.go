package grammar

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// This file compares matchers with a naive recogniser. Random grammars are written as GBNF and as
// regular expressions; the recogniser tries all ways to match a text.

// A shape is a grammar of the oracle.
type shape struct {
	op       byte   // 'l': literal, 'c': one of the characters of text, 's': sequence, 'a': alternatives, 'r': repetition, 'n': a rule
	text     string // also the name of a rule
	not      bool   // of a class: all characters except these
	min, max int
	sub      []*shape
}

type shapes map[string]*shape

// An oracle matches shapes with a text. ends has the places where a match of a shape from a place
// on may end. rest reports whether the text may end within such a match, or with it.
type oracle struct {
	rules shapes
	text  string
	ends  map[place]map[int]bool
	rest  map[place]bool
}

type place struct {
	n  *shape
	at int
}

func (o *oracle) match(n *shape, at int) (ends map[int]bool, rest bool) {
	p := place{n, at}
	if e, ok := o.ends[p]; ok {
		return e, o.rest[p]
	}
	ends = map[int]bool{}
	left := o.text[at:]
	switch n.op {
	case 'l':
		if strings.HasPrefix(left, n.text) {
			ends[at+len(n.text)] = true
		}
		rest = strings.HasPrefix(n.text, left)
	case 'c':
		if r, size := utf8.DecodeRuneInString(left); (r != utf8.RuneError || size > 1) && strings.ContainsRune(n.text, r) != n.not {
			ends[at+size] = true
			rest = len(left) == size
		}
		if !utf8.FullRuneInString(left) { // a part of a character may match a character of n
			rest = n.not || slices.ContainsFunc([]rune(n.text), func(r rune) bool { return strings.HasPrefix(string(r), left) })
		}
	case 's':
		ends[at], rest = true, at == len(o.text)
		for _, s := range n.sub {
			ends, rest = o.after(s, ends, rest)
		}
	case 'a':
		for _, s := range n.sub {
			e, r := o.match(s, at)
			rest = rest || r
			for i := range e {
				ends[i] = true
			}
		}
	case 'r':
		now := map[int]bool{at: true}
		rest = at == len(o.text)
		for i := 0; (n.max < 0 || i < n.max) && i <= n.min+len(o.text) && len(now) > 0; i++ {
			if i >= n.min {
				for e := range now {
					ends[e] = true
				}
			}
			now, rest = o.after(n.sub[0], now, rest)
		}
		for e := range now {
			ends[e] = true
		}
	case 'n':
		ends, rest = o.match(o.rules[n.text], at)
	}
	o.ends[p], o.rest[p] = ends, rest
	return ends, rest
}

// after matches s from each of ends on.
func (o *oracle) after(s *shape, ends map[int]bool, rest bool) (map[int]bool, bool) {
	next := map[int]bool{}
	for i := range ends {
		e, r := o.match(s, i)
		rest = rest || r
		for j := range e {
			next[j] = true
		}
	}
	return next, rest
}

// judge reports whether text is the beginning of a text that the rules match, and whether the rules
// match the whole text.
func (rules shapes) judge(text string) (begins, whole bool) {
	o := &oracle{rules, text, map[place]map[int]bool{}, map[place]bool{}}
	ends, rest := o.match(rules["root"], 0)
	return rest, ends[len(text)]
}

var alphabet = []rune("ab1\"é世")

// drawShape draws a grammar at random. It calls only the rules of names.
func drawShape(r *rand.Rand, depth int, names []string) *shape {
	n := r.IntN(6)
	if depth == 0 || n == 5 && len(names) == 0 && r.IntN(4) > 0 {
		n = r.IntN(2)
	}
	switch n {
	case 0:
		return &shape{op: 'l', text: drawText(r, 1+r.IntN(3))}
	case 1:
		return &shape{op: 'c', text: drawText(r, 1+r.IntN(3)), not: r.IntN(3) == 0}
	case 2, 3:
		s := &shape{op: "sa"[n-2]}
		for range 1 + r.IntN(3) {
			s.sub = append(s.sub, drawShape(r, depth-1, names))
		}
		return s
	case 4:
		s := &shape{op: 'r', min: r.IntN(3), max: -1, sub: []*shape{drawShape(r, depth-1, names)}}
		if r.IntN(2) == 0 {
			s.max = s.min + r.IntN(4)
		}
		return s
	}
	if len(names) == 0 {
		return &shape{op: 's'}
	}
	// A character precedes each call of a rule, so that no rule begins with a call of itself.
	return &shape{op: 's', sub: []*shape{{op: 'l', text: drawText(r, 1)}, {op: 'n', text: names[r.IntN(len(names))]}}}
}

func drawText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteRune(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

func drawRules(r *rand.Rand) shapes {
	names := []string{"root", "x", "y-1"}
	rules := shapes{}
	for _, name := range names {
		// One alternative has no calls, so that every rule can end.
		rules[name] = &shape{op: 'a', sub: []*shape{drawShape(r, 3, names), drawShape(r, 2, nil)}}
	}
	return rules
}

func (rules shapes) gbnf() string {
	var b strings.Builder
	for _, name := range []string{"x", "root", "y-1"} {
		fmt.Fprintf(&b, "%s ::= %s # a rule\n", name, rules[name].gbnf())
	}
	return b.String()
}

func (n *shape) gbnf() string {
	sub := make([]string, len(n.sub))
	for i, s := range n.sub {
		sub[i] = s.gbnf()
	}
	not := ""
	if n.not {
		not = "^"
	}
	switch n.op {
	case 'l':
		return `"` + strings.ReplaceAll(n.text, `"`, `\"`) + `"`
	case 'c':
		return "[" + not + strings.ReplaceAll(n.text, "é", `\u00E9`) + "]"
	case 's':
		return "(" + strings.Join(sub, " ") + ")"
	case 'a':
		return "( " + strings.Join(sub, "\n | ") + " )"
	case 'n':
		return n.text
	}
	return sub[0] + times(n)
}

func times(n *shape) string {
	switch {
	case n.max < 0 && n.min == 0:
		return "*"
	case n.max < 0 && n.min == 1:
		return "+"
	case n.max < 0:
		return fmt.Sprintf("{%d,}", n.min)
	case n.min == 0 && n.max == 1:
		return "?"
	}
	return fmt.Sprintf("{%d,%d}", n.min, n.max)
}

func (n *shape) regexp() string {
	sub := make([]string, len(n.sub))
	for i, s := range n.sub {
		sub[i] = s.regexp()
	}
	not := ""
	if n.not {
		not = "^"
	}
	switch n.op {
	case 'l':
		return regexp.QuoteMeta(n.text)
	case 'c':
		return "[" + not + n.text + "]"
	case 's':
		return "(?:" + strings.Join(sub, "") + ")"
	case 'a':
		return "(" + strings.Join(sub, "|") + ")"
	}
	return "(?:" + sub[0] + ")" + times(n)
}

// drawVocabulary returns a vocabulary of the bytes of the alphabet, random pieces of texts that are
// cut anywhere, a token without bytes, and two end tokens.
func drawVocabulary(t testing.TB, r *rand.Rand) *Vocabulary {
	var tokens [][]byte
	for _, b := range []byte(string(alphabet) + "z") {
		tokens = append(tokens, []byte{b})
	}
	for range 40 {
		b := []byte(drawText(r, 10))
		from := r.IntN(len(b) - 6)
		tokens = append(tokens, slices.Clone(b[from:from+1+r.IntN(6)]))
	}
	r.Shuffle(len(tokens), func(i, j int) { tokens[i], tokens[j] = tokens[j], tokens[i] })
	n := len(tokens)
	v, err := NewVocabulary(append(tokens, nil, nil, []byte("a")), []int{n + 1, n + 2})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// walk follows g at random, with tokens that the oracle allows. At each step it compares the mask
// and Accept with the oracle, for every token.
func walk(t *testing.T, r *rand.Rand, g *Grammar, v *Vocabulary, judge func(string) (begins, whole bool)) {
	t.Helper()
	m, text := g.Matcher(v), ""
	for range 8 {
		mask, err := m.Mask()
		if err != nil {
			t.Fatal(err)
		}
		_, whole := judge(text)
		if m.CanEnd() != whole {
			t.Fatalf("%q: CanEnd is %v", text, m.CanEnd())
		}
		var may []int
		for token, b := range v.tokens {
			want := len(b) > 0
			if v.isEnd[token] {
				want = whole
			} else if want {
				want, _ = judge(text + string(b))
			}
			have := mask[token/64]>>(token%64)&1 == 1
			accepted := m.Fork().Accept(token) == nil
			if have != want || accepted != want {
				t.Fatalf("%q, then %q (end: %v): in the mask %v, accepted %v, want %v", text, b, v.isEnd[token], have, accepted, want)
			}
			if want && !v.isEnd[token] {
				may = append(may, token)
			}
		}
		if m.Done() != (whole && len(may) == 0) {
			t.Fatalf("%q: Done is %v with %d tokens to follow", text, m.Done(), len(may))
		}
		if len(may) == 0 {
			if !whole {
				t.Fatalf("%q: no token may follow", text)
			}
			return
		}
		next := may[r.IntN(len(may))]
		if err := m.Accept(next); err != nil {
			t.Fatal(err)
		}
		text += string(v.tokens[next])
	}
}

func TestOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		rules, v := drawRules(r), drawVocabulary(t, r)
		source := rules.gbnf()
		g, err := GBNF(source)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		t.Run(fmt.Sprint("gbnf", i), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Log(source)
				}
			}()
			for range 3 {
				walk(t, r, g, v, rules.judge)
			}
		})
	}
}

func TestOracleRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 200 {
		rules, v := shapes{"root": drawShape(r, 4, nil)}, drawVocabulary(t, r)
		source := rules["root"].regexp()
		g, err := Regexp(source)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		re := regexp.MustCompile(`\A(?:` + source + `)\z`)
		t.Run(fmt.Sprint("regexp", i), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Log(source)
				}
			}()
			for range 3 {
				walk(t, r, g, v, func(text string) (begins, whole bool) {
					begins, whole = rules.judge(text)
					if utf8.ValidString(text) && whole != re.MatchString(text) {
						t.Fatalf("the oracle and package regexp differ about %q", text)
					}
					return begins, whole
				})
			}
		})
	}
}
