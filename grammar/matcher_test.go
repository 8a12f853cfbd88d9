package grammar

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

func mustRegexp(t testing.TB, pattern string) *Grammar {
	t.Helper()
	g, err := Regexp(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func vocabularyOf(t testing.TB, ends []int, tokens ...string) *Vocabulary {
	t.Helper()
	list := make([][]byte, len(tokens))
	for i, s := range tokens {
		list[i] = []byte(s)
	}
	v, err := NewVocabulary(list, ends)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// allowed returns the tokens in the mask of m.
func allowed(t testing.TB, m *Matcher) []int {
	t.Helper()
	mask, err := m.Mask()
	if err != nil {
		t.Fatal(err)
	}
	var tokens []int
	for i := range 64 * len(mask) {
		if mask[i/64]>>(i%64)&1 == 1 {
			tokens = append(tokens, i)
		}
	}
	return tokens
}

func accept(t testing.TB, m *Matcher, tokens ...int) {
	t.Helper()
	for _, token := range tokens {
		if err := m.Accept(token); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMatcher(t *testing.T) {
	// Tokens 3 and 4 have the same bytes. 5 is a control token. 6 and 7 end the text; 7 has bytes
	// that could match.
	v := vocabularyOf(t, []int{6, 7, 6}, "a", "ab", "b", "c", "c", "", "", "a", "abcc")
	if v.Tokens() != 9 {
		t.Errorf("%d tokens", v.Tokens())
	}
	m := mustRegexp(t, "a?bc*").Matcher(v)
	check := func(m *Matcher, want []int, canEnd, done bool) {
		t.Helper()
		if have := allowed(t, m); !slices.Equal(have, want) || m.CanEnd() != canEnd || m.Done() != done {
			t.Errorf("the tokens are %v, want %v; CanEnd %v, Done %v", have, want, m.CanEnd(), m.Done())
		}
	}
	check(m, []int{0, 1, 2, 8}, false, false)
	accept(t, m, 0)
	check(m, []int{2}, false, false)
	if token, ok := m.Forced(); token != 2 || !ok {
		t.Error("b is not forced")
	}
	for _, token := range []int{-1, 9, 0, 1, 5, 6, 7} {
		if err := m.Accept(token); !errors.Is(err, fault.ErrRefused) {
			t.Errorf("token %d: %v", token, err)
		}
	}
	check(m, []int{2}, false, false)
	f := m.Fork()
	accept(t, f, 2)
	check(f, []int{3, 4, 6, 7}, true, false)
	check(m, []int{2}, false, false)
	if _, ok := f.Forced(); ok {
		t.Error("one of several tokens is forced")
	}
	m.Set(f)
	accept(t, m, 4, 3)
	check(m, []int{3, 4, 6, 7}, true, false)
	accept(t, f, 7)
	if !f.Done() || !f.CanEnd() || !errors.Is(f.Accept(7), fault.ErrRefused) || !errors.Is(f.Apply(make([]float32, 9)), fault.ErrNoToken) {
		t.Error("a token may follow an end token")
	}
	if _, err := f.Mask(); !errors.Is(err, fault.ErrNoToken) {
		t.Error(err)
	}
	if _, ok := f.Forced(); ok {
		t.Error("a token is forced after the end")
	}
}

// TestDone verifies that a text is done where only its end may follow, and that it then accepts an
// end token.
func TestDone(t *testing.T) {
	v := vocabularyOf(t, []int{1}, "a", "")
	m := mustRegexp(t, "aa").Matcher(v)
	accept(t, m, 0)
	if m.Done() || m.CanEnd() {
		t.Error("done too early")
	}
	accept(t, m, 0)
	if token, ok := m.Forced(); !m.Done() || token != 1 || !ok {
		t.Error("not done")
	}
	accept(t, m, 1)

	m = mustRegexp(t, "a?").Matcher(vocabularyOf(t, nil, "a"))
	accept(t, m, 0)
	if have := allowed(t, m); !m.Done() || have != nil || !errors.Is(m.Apply([]float32{0}), fault.ErrNoToken) {
		t.Errorf("%v may follow", have)
	}
	// No token has the byte that the grammar requires.
	m = mustRegexp(t, "b").Matcher(v)
	if have := allowed(t, m); m.Done() || have != nil || !errors.Is(m.Apply([]float32{0, 0}), fault.ErrNoToken) {
		t.Errorf("%v may follow", have)
	}
}

func TestApply(t *testing.T) {
	const n = 300
	r := rand.New(rand.NewPCG(1, 1))
	for _, share := range []float64{0, 0.02, 0.5, 0.98, 1} {
		tokens := make([]string, n)
		want := make([]float32, n+70)
		for i := range want {
			want[i] = float32(math.Inf(-1))
			if i >= n {
				continue
			}
			tokens[i] = "b"
			if r.Float64() < share || i == 77 || i >= 128 && i < 192 && share > 0 {
				tokens[i], want[i] = "a", float32(i)
			}
		}
		logits := make([]float32, n+70)
		for i := range logits {
			logits[i] = float32(i)
		}
		m := mustRegexp(t, "a").Matcher(vocabularyOf(t, nil, tokens...))
		if err := m.Apply(logits); err != nil || !slices.Equal(logits, want) {
			t.Errorf("%v: %v, %v", share, err, logits)
		}
		if err := m.Apply(logits[:n-1]); !errors.Is(err, fault.ErrShape) {
			t.Errorf("with too few logits: %v", err)
		}
	}
}

func TestVocabulary(t *testing.T) {
	for _, ends := range [][]int{{-1}, {2}} {
		if _, err := NewVocabulary(make([][]byte, 2), ends); !errors.Is(err, fault.ErrShape) {
			t.Errorf("ends %v: %v", ends, err)
		}
	}
	long := strings.Repeat("a", longestToken+1)
	v := vocabularyOf(t, nil, "a", long, long[1:])
	m := mustRegexp(t, "a*").Matcher(v)
	if have := allowed(t, m); !slices.Equal(have, []int{0, 2}) || !errors.Is(m.Accept(1), fault.ErrRefused) {
		t.Errorf("%v", have)
	}
	m = mustRegexp(t, "").Matcher(vocabularyOf(t, nil))
	if have := allowed(t, m); have != nil || !m.Done() {
		t.Errorf("%v of no tokens", have)
	}
}

// TestLongRepetitions verifies the masks within a run of many repetitions. States may share a local
// mask only if no token can distinguish them.
func TestLongRepetitions(t *testing.T) {
	v := vocabularyOf(t, []int{5}, "a", "aa", "aaaaa", "b", "ab", "", "aaaaaaab")
	for _, s := range []struct {
		pattern     string
		least, most int
	}{{"a{0,60}b?", 0, 60}, {"a{40,60}b?", 40, 60}, {"a{60}b?", 60, 60}, {"a{30,}b?", 30, math.MaxInt}, {"a{1,25}b?", 1, 25}} {
		m := mustRegexp(t, s.pattern).Matcher(v)
		for n := range 70 {
			var want []int
			fits := func(more int) bool { return n+more <= s.most }
			for token, more := range []int{1, 2, 5, -1, 1, -1, 7} {
				ends := token == 3 || token == 4 || token == 6
				ok := more >= 0 && fits(more)
				if ends {
					ok = fits(max(more, 0)) && n+max(more, 0) >= s.least
				}
				if token == 5 {
					ok = n >= s.least
				}
				if ok {
					want = append(want, token)
				}
			}
			if have := allowed(t, m); !slices.Equal(have, want) {
				t.Fatalf("%s after %d: %v, want %v", s.pattern, n, have, want)
			}
			if m.Accept(0) != nil {
				break
			}
		}
	}
}

// TestFullTable verifies that states which a full table removed are computed again.
func TestFullTable(t *testing.T) {
	defer func(n int) { maxBytes = n }(maxBytes)
	r := rand.New(rand.NewPCG(9, 9))
	g, err := JSONSchema([]byte(`{"type": "array", "items": {"$ref": "#"}}`))
	if err != nil {
		t.Fatal(err)
	}
	a, b := g.Matcher(everyByte), g.Matcher(everyByte)
	maxBytes = 20000
	generations := map[int]bool{}
	for range 500 {
		may := allowed(t, a)
		generations[a.generation] = true
		for token := range 257 {
			if ok := a.Fork().Accept(token) == nil; ok != slices.Contains(may, token) {
				t.Fatalf("token %d: %v, not as in the mask", token, ok)
			}
		}
		next := may[r.IntN(len(may))]
		if next == 256 || len(may) > 1 && next == ' ' {
			continue
		}
		if r.IntN(3) == 0 && slices.Contains(may, '[') {
			next = '['
		}
		accept(t, a, next)
		if a.Done() {
			a = g.Matcher(everyByte)
		}
		if r.IntN(10) == 0 {
			b.Set(a)
		} else if r.IntN(10) == 0 {
			f := b.Fork()
			if have := allowed(t, f); !slices.Equal(have, allowed(t, b)) {
				t.Fatal("a fork differs")
			}
		}
	}
	if len(generations) < 3 {
		t.Errorf("%d generations, the test needs more", len(generations))
	}
}

// TestHostile verifies that a grammar with exponentially growing states or ambiguities is followed
// or returns an error, within a short time.
func TestHostile(t *testing.T) {
	v := realistic(t, 20000)
	var diamond strings.Builder
	diamond.WriteString("root ::= r0\n")
	for i := range 60 {
		fmt.Fprintf(&diamond, "r%d ::= p%d | q%d\np%d ::= r%d \"x\"\nq%d ::= r%d \"y\"\n", i, i, i, i, i+1, i, i+1)
	}
	diamond.WriteString("r60 ::= \"a\"\n")
	for _, s := range []struct {
		name, source string
		text         string
		fails        bool
	}{
		{"subsets", `root ::= [a-z ]* "a" [a-z ]{5000}`, strings.Repeat("aababbbabab", 600), true},
		{"diamond", diamond.String(), "a" + strings.Repeat("xy", 30), false},
		{"ambiguous", "root ::= \"a\" root root | \"a\" root | \"a\"", strings.Repeat("a", 200), false},
		{"three ends", "root ::= \"a\" root | \"a\" root \"b\" | \"a\" root \"c\" | \"\"", strings.Repeat("a", 200) + strings.Repeat("bc", 100), false},
		{"optional ends", "root ::= \"a\" root \"b\"? \"c\"? \"b\"? | \"\"", strings.Repeat("a", 200) + strings.Repeat("bcb", 100), false},
		{"deep", `root ::= "(" root ")" | ""`, strings.Repeat("(", maxDepth-1) + strings.Repeat(")", maxDepth-1), false},
	} {
		t.Run(s.name, func(t *testing.T) {
			g, err := GBNF(s.source)
			if err != nil {
				t.Fatal(err)
			}
			m := g.Matcher(v)
			for i, b := range []byte(s.text) {
				if !s.fails || i > 2000 {
					_, err = m.Mask()
				}
				if err == nil {
					err = m.Accept(int(b))
				}
				if err != nil && s.fails && errors.Is(err, fault.ErrTooLarge) {
					return
				}
				if err != nil {
					t.Fatalf("byte %d: %v", i, err)
				}
			}
			if s.fails || !m.CanEnd() {
				t.Errorf("no error; it may end: %v", m.CanEnd())
			}
		})
	}
	// At the limit of depth, only closing parentheses may follow.
	g, err := GBNF(`root ::= "(" root ")" | ""`)
	if err != nil {
		t.Fatal(err)
	}
	m := g.Matcher(everyByte)
	for n := 0; ; n++ {
		may := allowed(t, m)
		if m.Accept('(') != nil {
			if !slices.Equal(may, []int{')'}) || n < maxDepth/2 {
				t.Errorf("%v may follow at depth %d", may, n)
			}
			break
		}
	}
}

// TestConcurrent follows a grammar on several goroutines at once.
func TestConcurrent(t *testing.T) {
	g := JSONObject()
	r := rand.New(rand.NewPCG(1, 2))
	v := drawVocabulary(t, r)
	want := walkHash(t, g, v, 1)
	g, err := JSONSchema([]byte(`{"type": "object"}`))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if have := walkHash(t, g, v, 1); have != want {
				t.Errorf("a walk differs: %q, want %q", have, want)
			}
		})
	}
	group.Wait()
}

// walkHash returns the text of a random walk with a seed.
func walkHash(t testing.TB, g *Grammar, v *Vocabulary, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, seed))
	m, text := g.Matcher(v), ""
	for range 100 {
		may := allowed(t, m)
		if len(may) == 0 || m.Done() {
			break
		}
		next := may[r.IntN(len(may))]
		if v.isEnd[next] {
			continue
		}
		accept(t, m, next)
		text += string(v.tokens[next])
	}
	return text
}

func TestAllocations(t *testing.T) {
	v := realistic(t, 5000)
	g := JSONObject()
	text := []byte(`{"ab": [1, {"x": [true, "abc"]}], "k": "hhhh"}`)
	logits := make([]float32, v.Tokens())
	run := func(m *Matcher) {
		for _, b := range text {
			if err := m.Apply(logits); err != nil {
				t.Fatal(err)
			}
			m.Forced()
			if err := m.Accept(int(b)); err != nil {
				t.Fatal(err)
			}
			m.CanEnd()
			m.Done()
		}
	}
	m, begin := g.Matcher(v), g.Matcher(v)
	run(m)
	if n := testing.AllocsPerRun(10, func() { m.Set(begin); run(m) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if begin.at.next[g.class['{']] == nil {
		t.Error("the state after a byte is not stored")
	}
}

// TestLocalMasks verifies that the local mask of a state is used again with other stacks below the
// state.
func TestLocalMasks(t *testing.T) {
	v := realistic(t, 20000)
	m := JSONObject().Matcher(v)
	cost := func(text string) int {
		for _, b := range []byte(text) {
			accept(t, m, int(b))
		}
		before := m.work
		allowed(t, m)
		return before - m.work
	}
	first, again, deeper := cost(`{"a": "b`), cost("c"), cost(`", "d": [1, {"x": "e`)
	if nodes := len(v.nodes); first < nodes/2 || again != 0 || deeper > nodes/4 {
		t.Errorf("of %d nodes: %d visited first, %d again, %d with another stack", nodes, first, again, deeper)
	}
	g, err := JSONSchema([]byte(`{"type": "string", "maxLength": 5000}`))
	if err != nil {
		t.Fatal(err)
	}
	m = g.Matcher(v)
	if cost(`"a`); cost(`abcdefgh`) > len(v.nodes)/4 {
		t.Error("another place in a long repetition costs as much as the first")
	}
}
