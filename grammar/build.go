package grammar

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// This file builds the automaton that a Matcher follows: it merges equal states of glushkov.go, and
// computes the order of rules and the classes of bytes.

// An edge leads to state to. It reads a byte of lo to hi or, if rule is not negative, calls the
// rule.
type edge struct {
	lo, hi byte
	rule   int32
	to     int32
}

type state struct {
	edges []edge
	final bool  // the rule may end here
	run   int32 // index of its run, or -1
	place int32 // index in that run
}

// A ruleStart describes the beginning of a rule's automaton.
type ruleStart struct {
	state  int32
	order  int32     // a rule comes after all rules that call it before they read a byte
	first  [4]uint64 // a bit for each byte that a match can begin with
	height int32     // largest number of rules that one of these bytes enters, with this one
}

// A Grammar is a compiled regular expression, GBNF grammar or JSON schema. It is safe for
// concurrent use. For each Vocabulary that it is used with, it stores the states that Matchers have
// computed, and keeps the Vocabulary in memory.
type Grammar struct {
	states  []state
	rules   []ruleStart
	runs    []run
	class   [256]uint8 // of each byte; all edges treat the bytes of a class alike
	samples []byte     // a byte of each class
	empty   bool       // the empty text matches
	height  int32      // largest number of rules that one byte enters
	shared  sharedStates
}

// compile compiles p.
func compile(p *program) (*Grammar, error) {
	if len(p.rules) > maxRules {
		return nil, errorf(fault.ErrTooLarge, "more than %d rules", maxRules)
	}
	p.analyse()
	root := p.rules[0]
	if !root.empty && !root.some {
		return nil, errorf(fault.ErrUnsupported, "nothing matches it")
	}
	b, err := build(p)
	if err != nil {
		return nil, err
	}
	g := &Grammar{empty: root.empty}
	to := b.join(g)
	g.rules = make([]ruleStart, len(b.start))
	for i, s := range b.start {
		g.rules[i].state = -1
		if s >= 0 {
			g.rules[i].state = to[s]
		}
	}
	g.classes()
	return g, g.sortRules(p)
}

// join merges states of b that are equally final and have equal edges to g.states, and returns the
// state of g for each state of b. A merge may make other states equal, hence the rounds; eight of
// them find nearly all equal states.
func (b *builder) join(g *Grammar) []int32 {
	to, count := make([]int32, len(b.symbols)), len(b.symbols)
	for i := range to {
		to[i] = int32(i)
	}
	for range 8 {
		next, n := b.alike(to)
		to = next
		if n == count {
			break
		}
		count = n
	}
	g.states = make([]state, count)
	for i, s := range to {
		if t := &g.states[s]; t.edges == nil {
			*t = state{edges: b.edgesOf(i, to), final: b.final[i], run: b.runOf[i]}
		}
	}
	g.runs = b.runs
	for i, r := range g.runs {
		for place, s := range r.states {
			r.states[place] = to[s]
			if t := &g.states[to[s]]; t.run == int32(i) {
				t.place = int32(place)
			}
		}
	}
	return to
}

// alike returns new numbers of the states: states that are equally final and have equal edges get
// the same number. Edges are equal if to has the same number for the states that they lead to.
func (b *builder) alike(to []int32) (next []int32, n int) {
	next = make([]int32, len(to))
	known := make(map[string]int32, len(to))
	var key []byte
	for i := range to {
		key = append(key[:0], 0)
		if b.final[i] {
			key[0] = 1
		}
		for _, e := range b.edgesOf(i, to) {
			key = append(key, e.lo, e.hi)
			key = binary.LittleEndian.AppendUint32(key, uint32(e.rule))
			key = binary.LittleEndian.AppendUint32(key, uint32(e.to))
		}
		s, ok := known[string(key)]
		if !ok {
			s = int32(len(known))
			known[string(key)] = s
		}
		next[i] = s
	}
	return next, len(known)
}

// edgesOf returns the edges of state i of b, sorted and without duplicates. It joins adjacent
// ranges of bytes.
func (b *builder) edgesOf(i int, to []int32) []edge {
	edges := make([]edge, 0, len(b.follow[i]))
	for _, f := range b.follow[i] {
		s := b.symbols[f]
		edges = append(edges, edge{s.lo, s.hi, s.rule, to[f]})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.to, b.to), cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi))
	})
	kept := edges[:0]
	for _, e := range edges {
		if n := len(kept); n > 0 && e.rule == kept[n-1].rule && e.to == kept[n-1].to && int(e.lo) <= int(kept[n-1].hi)+1 {
			kept[n-1].hi = max(kept[n-1].hi, e.hi)
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// classes computes the classes of bytes.
func (g *Grammar) classes() {
	var begins [257]bool
	for _, s := range g.states {
		for _, e := range s.edges {
			if e.rule < 0 {
				begins[e.lo], begins[int(e.hi)+1] = true, true
			}
		}
	}
	for b := range g.class {
		if b == 0 || begins[b] {
			g.samples = append(g.samples, byte(b))
		}
		g.class[b] = uint8(len(g.samples) - 1)
	}
}

// sortRules computes the order of rules and the bytes that each may begin with. It fails if a rule
// may call itself before any byte.
func (g *Grammar) sortRules(p *program) error {
	const before, within, done = 0, 1, 2
	phase := make([]uint8, len(g.rules))
	var path []int32
	last := int32(len(g.rules))
	var visit func(rule int32) error
	visit = func(rule int32) error {
		r := &g.rules[rule]
		if phase[rule] == within {
			return errorf(fault.ErrUnsupported, "left recursion: %s", p.cycle(append(path, rule)))
		}
		if phase[rule] == done || r.state < 0 {
			return nil
		}
		phase[rule], path = within, append(path, rule)
		for _, e := range g.states[r.state].edges {
			if e.rule < 0 {
				for b := int(e.lo); b <= int(e.hi); b++ {
					r.first[b>>6] |= 1 << (b & 63)
				}
				continue
			}
			if err := visit(e.rule); err != nil {
				return err
			}
			for i, w := range g.rules[e.rule].first {
				r.first[i] |= w
			}
			r.height = max(r.height, g.rules[e.rule].height)
		}
		r.height++
		g.height = max(g.height, r.height)
		phase[rule], path = done, path[:len(path)-1]
		last--
		r.order = last
		return nil
	}
	for i := range g.rules {
		if err := visit(int32(i)); err != nil {
			return err
		}
	}
	return nil
}

// cycle returns the names of the rules of path, from the first occurrence of its last rule on.
func (p *program) cycle(path []int32) string {
	var names []string
	for _, rule := range path[slices.Index(path, path[len(path)-1]):] {
		if p.names[rule] != nil {
			names = append(names, p.names[rule].String())
		}
	}
	if len(names) > 8 {
		names = append(append(names[:4:4], "..."), names[len(names)-3:]...)
	}
	return strings.Join(names, " -> ")
}
