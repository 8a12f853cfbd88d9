package grammar

import "github.com/avoformer/avoformer/fault"

// This file builds a finite automaton for each rule, after Glushkov ("The abstract theory of
// automata", 1961): a state for the position after each byte range and each call in the rule, and
// one for the start. There are no empty transitions: a call matches a string that is not empty, and
// if a rule also matches the empty string, its caller may skip the call.

// A symbol leads to a state: it is a byte of lo to hi or, if rule is not negative, a call of the
// rule.
type symbol struct {
	lo, hi byte
	rule   int32
}

// A run has the states of a repetition, one for each time. States that are further from both ends
// than a token is long allow the same tokens.
type run struct {
	states   []int32
	min, max int
}

// A builder builds the states of all rules.
type builder struct {
	*program
	symbols []symbol  // of each state; unused for a start
	follow  [][]int32 // of each state: the states that may follow
	final   []bool    // of each state: the rule may end there
	start   []int32   // the start of each rule; -1: not reached
	runs    []run
	runOf   []int32 // of each state; -1: no run
	edges   int
	todo    []int // rules whose states are not built yet
}

// A fragment has the states that an expression may begin with and end with. empty means that the
// expression may be skipped.
type fragment struct {
	first, last []int32
	empty       bool
}

// inlineSize is the size up to which alternatives and repeated expressions are part of the rule in
// which they occur. A larger expression becomes a separate rule, because edges from all its last
// states to all its first states would be too many.
const inlineSize = 48

// build builds the states of all rules that can be reached from rule 0.
func build(p *program) (*builder, error) {
	b := &builder{program: p, start: make([]int32, len(p.rules))}
	for i := range b.start {
		b.start[i] = -1
	}
	if err := b.reach(0); err != nil {
		return nil, err
	}
	for len(b.todo) > 0 {
		rule := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		f, err := b.fragment(p.rules[rule])
		if err != nil {
			return nil, err
		}
		for _, s := range f.last {
			b.final[s] = true
		}
		if err := b.connect([]int32{b.start[rule]}, f.first); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// reach adds a rule to the list of rules to build, unless it was there before.
func (b *builder) reach(rule int) (err error) {
	if b.start[rule] < 0 {
		b.start[rule], err = b.state(symbol{rule: -1})
		b.todo = append(b.todo, rule)
	}
	return err
}

func (b *builder) state(s symbol) (int32, error) {
	if len(b.symbols) >= maxPositions {
		return 0, errorf(fault.ErrTooLarge, "more than %d states; use smaller repetitions", maxPositions)
	}
	b.symbols, b.follow = append(b.symbols, s), append(b.follow, nil)
	b.final, b.runOf = append(b.final, false), append(b.runOf, -1)
	return int32(len(b.symbols) - 1), nil
}

// connect adds edges from each state of from to each state of to.
func (b *builder) connect(from, to []int32) error {
	b.edges += len(from) * len(to)
	if b.edges > maxEdges {
		return errorf(fault.ErrTooLarge, "more than %d transitions", maxEdges)
	}
	for _, s := range from {
		b.follow[s] = append(b.follow[s], to...)
	}
	return nil
}

// fragment builds the states of e for the strings that are not empty.
func (b *builder) fragment(e *expr) (fragment, error) {
	f := fragment{empty: e.empty}
	if !e.some {
		return f, nil
	}
	switch e.op {
	case opByte:
		s, err := b.state(symbol{lo: e.lo, hi: e.hi, rule: -1})
		return fragment{first: []int32{s}, last: []int32{s}}, err
	case opCall:
		if err := b.reach(e.rule); err != nil {
			return f, err
		}
		s, err := b.state(symbol{rule: int32(e.rule)})
		f.first, f.last = []int32{s}, []int32{s}
		return f, err
	case opConcat:
		return b.concat(e)
	case opAlt:
		for _, sub := range e.sub {
			if !sub.empty && !sub.some {
				continue
			}
			if e.size > inlineSize && sub.size > 1 {
				sub = b.own(sub)
			}
			g, err := b.fragment(sub)
			if err != nil {
				return f, err
			}
			f.first, f.last = append(f.first, g.first...), append(f.last, g.last...)
		}
		return f, nil
	case opGraph:
		return b.graph(e)
	}
	return b.repeat(e)
}

// graph builds the states of a graph's ways.
func (b *builder) graph(e *expr) (fragment, error) {
	n := len(e.graph.final)
	first, last := make([][]int32, n), make([][]int32, n)
	for i, sub := range e.sub {
		g, err := b.fragment(sub)
		if err != nil {
			return fragment{}, err
		}
		w := e.graph.ways[i]
		first[w.from], last[w.to] = append(first[w.from], g.first...), append(last[w.to], g.last...)
	}
	f := fragment{first: first[0], empty: e.empty}
	for s := range n {
		if err := b.connect(last[s], first[s]); err != nil {
			return f, err
		}
		if e.graph.final[s] {
			f.last = append(f.last, last[s]...)
		}
	}
	return f, nil
}

// own adds a rule for e, and returns a call of it.
func (b *builder) own(e *expr) *expr {
	b.start = append(b.start, -1)
	c := call(b.rule(nil, e))
	c.empty, c.some, c.size = e.empty, e.some, 1
	return c
}

func (b *builder) concat(e *expr) (fragment, error) {
	f := fragment{empty: true}
	for _, sub := range e.sub {
		if len(sub.sub) > 0 && sub.size > inlineSize && sub.op == opAlt {
			sub = b.own(sub)
		}
		g, err := b.fragment(sub)
		if err != nil {
			return f, err
		}
		if err := b.connect(f.last, g.first); err != nil {
			return f, err
		}
		if f.empty {
			f.first = append(f.first, g.first...)
		}
		if g.empty {
			f.last = append(f.last, g.last...)
		} else {
			f.last = g.last
		}
		f.empty = f.empty && g.empty
	}
	return f, nil
}

// repeat expands a repetition: min to max copies; without a limit, the last copy may repeat any
// number of times.
func (b *builder) repeat(e *expr) (fragment, error) {
	f := fragment{empty: e.empty}
	sub, least, times := e.sub[0], e.min, e.max
	if sub.empty {
		least = 0 // copies may match the empty string
	}
	if times < 0 {
		times = max(least, 1)
	}
	if times > 1 && sub.size > 1 || sub.size > inlineSize {
		sub = b.own(sub)
	}
	r := run{min: least, max: times}
	var before []int32
	for i := range times {
		g, err := b.fragment(sub)
		if err != nil {
			return f, err
		}
		if i == 0 {
			f.first = g.first
		}
		if err := b.connect(before, g.first); err != nil {
			return f, err
		}
		if e.max < 0 && i == times-1 {
			if err := b.connect(g.last, g.first); err != nil {
				return f, err
			}
		}
		if i+1 >= least {
			f.last = append(f.last, g.last...)
		}
		before = g.last
		if len(g.last) == 1 {
			r.states = append(r.states, g.last[0])
		}
	}
	if e.max > 1 && len(r.states) == times {
		for _, s := range r.states {
			b.runOf[s] = int32(len(b.runs))
		}
		b.runs = append(b.runs, r)
	}
	return f, nil
}
