package grammar

import "fmt"

// This file has the expressions that every source becomes: bytes, sequences, alternatives,
// repetitions and calls of rules.

type op uint8

const (
	opNone   op = iota // matches nothing
	opEmpty            // matches the empty string
	opByte             // one byte of lo to hi
	opConcat           // all of sub, one after another
	opAlt              // one of sub
	opRepeat           // sub[0], min to max times; max -1 means no limit
	opCall             // what rule matches
	opGraph            // the labels on a way through an automaton, which sub are
)

// An expr is an expression. It may occur in several places of other expressions, but not in itself.
type expr struct {
	op       op
	lo, hi   byte
	min, max int
	rule     int
	sub      []*expr
	graph    *graph

	// Known once analyse has run.
	empty bool // matches the empty string
	some  bool // matches a string that is not empty
	size  int  // number of bytes and calls, with those of rules not counted
}

// A graph is an automaton that begins in state 0 and ends in a final one, which every state leads
// to. Each way has the expression of the same place in sub, which matches some string and not the
// empty one.
type graph struct {
	ways  []graphWay
	final []bool
}

type graphWay struct{ from, to int32 }

// Both are shared, and nothing changes them.
var (
	none  = &expr{op: opNone}
	empty = &expr{op: opEmpty, empty: true}
)

func byteRange(lo, hi byte) *expr { return &expr{op: opByte, lo: lo, hi: hi} }
func call(rule int) *expr         { return &expr{op: opCall, rule: rule} }

// literal matches s.
func literal(s string) *expr {
	sub := make([]*expr, len(s))
	for i := range sub {
		sub[i] = byteRange(s[i], s[i])
	}
	return concat(sub...)
}

func concat(sub ...*expr) *expr {
	switch len(sub) {
	case 0:
		return empty
	case 1:
		return sub[0]
	}
	return &expr{op: opConcat, sub: sub}
}

func alt(sub ...*expr) *expr {
	switch len(sub) {
	case 0:
		return none
	case 1:
		return sub[0]
	}
	return &expr{op: opAlt, sub: sub}
}

// repeat matches e min to max times, or any number of times from min on if max is -1.
func repeat(e *expr, min, max int) *expr {
	if max == 0 {
		return empty
	}
	if min == 1 && max == 1 {
		return e
	}
	return &expr{op: opRepeat, min: min, max: max, sub: []*expr{e}}
}

func optional(e *expr) *expr { return repeat(e, 0, 1) }
func star(e *expr) *expr     { return repeat(e, 0, -1) }

// words matches any of the given strings, which share their common beginnings, so that no state has
// one path for each of them. The slice is in order and free of duplicates.
func words(sorted []string) *expr {
	var alternatives []*expr
	for i := 0; i < len(sorted); {
		if sorted[i] == "" {
			alternatives = append(alternatives, empty)
			i++
			continue
		}
		j, n := i+1, len(sorted[i])
		for ; j < len(sorted) && sorted[j][0] == sorted[i][0]; j++ {
			n = min(n, common(sorted[i], sorted[j]))
		}
		tails := make([]string, j-i)
		for k := range tails {
			tails[k] = sorted[i+k][n:]
		}
		alternatives = append(alternatives, concat(literal(sorted[i][:n]), words(tails)))
		i = j
	}
	return alt(alternatives...)
}

// common is the length of the common beginning of a and b.
func common[T string | []byte](a, b T) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// A program is the rules that a source became; a rule without expression matches nothing. Rule 0 is
// what a whole text has to match.
type program struct {
	rules []*expr
	names []fmt.Stringer // for messages; nil for what is part of another rule
}

// A ruleName is the name of a rule.
type ruleName string

func (n ruleName) String() string { return string(n) }

// rule adds a rule, whose expression may be set later.
func (p *program) rule(name fmt.Stringer, e *expr) int {
	p.rules, p.names = append(p.rules, e), append(p.names, name)
	return len(p.rules) - 1
}

// analyse finds out what each expression matches: whether the empty string, and whether any other.
// A rule is looked at again when it becomes known that a rule which it calls matches more.
func (p *program) analyse() {
	callers := make([][]int, len(p.rules))
	var note func(e *expr, rule int)
	note = func(e *expr, rule int) {
		if e.op == opCall {
			if list := callers[e.rule]; len(list) == 0 || list[len(list)-1] != rule {
				callers[e.rule] = append(list, rule)
			}
		}
		for _, s := range e.sub {
			note(s, rule)
		}
	}
	queue, queued := make([]int, len(p.rules)), make([]bool, len(p.rules))
	for i, e := range p.rules {
		if e == nil {
			p.rules[i] = none
		}
		note(p.rules[i], i)
		queue[len(queue)-1-i], queued[i] = i, true // what is called mostly comes later
	}
	for len(queue) > 0 {
		rule := queue[0]
		queue, queued[rule] = queue[1:], false
		e := p.rules[rule]
		wasEmpty, wasSome := e.empty, e.some
		p.update(e)
		if e.empty == wasEmpty && e.some == wasSome {
			continue
		}
		for _, c := range callers[rule] {
			if !queued[c] {
				queue, queued[c] = append(queue, c), true
			}
		}
	}
}

// update computes the fields of e and of its parts, as far as those of the rules are known.
func (p *program) update(e *expr) {
	if e.op == opNone || e.op == opEmpty {
		return
	}
	e.size = 0
	for _, s := range e.sub {
		p.update(s)
	}
	for _, s := range e.sub {
		e.size = min(e.size+s.size, maxPositions+1)
	}
	switch e.op {
	case opByte:
		e.some, e.size = true, 1
	case opCall:
		e.empty, e.some, e.size = p.rules[e.rule].empty, p.rules[e.rule].some, 1
	case opConcat:
		e.empty, e.some = true, false
		for _, s := range e.sub {
			if !s.empty && !s.some {
				e.empty, e.some = false, false
				return
			}
			e.empty, e.some = e.empty && s.empty, e.some || s.some
		}
	case opGraph:
		e.empty, e.some = e.graph.final[0], len(e.sub) > 0
	case opAlt:
		for _, s := range e.sub {
			e.empty, e.some = e.empty || s.empty, e.some || s.some
		}
	case opRepeat:
		s := e.sub[0]
		e.empty, e.some = e.min == 0 || s.empty, s.some
		if e.max > 0 {
			e.size = min(e.size*e.max, maxPositions+1)
		} else {
			e.size = min(e.size*max(e.min, 1), maxPositions+1)
		}
	}
}
