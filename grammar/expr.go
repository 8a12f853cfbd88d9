package grammar

import "fmt"

// Every source is converted to the expressions of this file: bytes, sequences, alternatives,
// repetitions and calls of rules.

type op uint8

const (
	opNone   op = iota // matches nothing
	opEmpty            // matches the empty string
	opByte             // one byte of lo to hi
	opConcat           // all of sub, one after another
	opAlt              // one of sub
	opRepeat           // sub[0], min to max times; max -1 means no limit
	opCall             // a match of rule
	opGraph            // a path through graph; sub has the expressions of its ways
)

// An expr is an expression. It may occur in several places of other expressions, but not in itself.
type expr struct {
	op       op
	lo, hi   byte
	min, max int
	rule     int
	sub      []*expr
	graph    *graph

	// analyse sets these fields.
	empty bool // matches the empty string
	some  bool // matches a string that is not empty
	size  int  // number of byte ranges and calls, without those in called rules
}

// A graph is an automaton that begins in state 0 and ends in a final state, which can be reached
// from every state. The expression of ways[i] is sub[i] of the expr; it matches at least one
// string, and not the empty one.
type graph struct {
	ways  []graphWay
	final []bool
}

type graphWay struct{ from, to int32 }

// These expressions are shared and must not be changed.
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

// words matches any of the given strings. Strings with a common prefix share its expression, so
// that no state has one edge for each string. The slice is sorted and has no duplicates.
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

// common returns the length of the common prefix of a and b.
func common[T string | []byte](a, b T) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// A program has the rules of a source. A rule without an expression matches nothing. A whole text
// must match rule 0.
type program struct {
	rules []*expr
	names []fmt.Stringer // for messages; nil if the rule is a part of another one
}

// A ruleName is the name of a rule.
type ruleName string

func (n ruleName) String() string { return string(n) }

// rule adds a rule and returns its number. Its expression may be set later.
func (p *program) rule(name fmt.Stringer, e *expr) int {
	p.rules, p.names = append(p.rules, e), append(p.names, name)
	return len(p.rules) - 1
}

// analyse computes for each expression whether it matches the empty string, and whether it matches
// any other. It repeats this for a rule if a rule that it calls turns out to match more.
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
		queue[len(queue)-1-i], queued[i] = i, true // backwards: called rules mostly have larger numbers
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

// update computes the fields of e and of its parts from the fields that are known of the called
// rules.
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
