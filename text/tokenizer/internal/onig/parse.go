package onig

// Parsing a pattern into a tree of nodes.

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds on the work of loading a pattern.
const (
	maxPattern = 4096
	maxDepth   = 32
	maxRepeat  = 1000
)

type kind int8

const (
	oneChar kind = iota // a character of set
	sequence
	choice     // the first of subs that leads to a match
	repetition // subs[0], between least and most times
	ahead      // subs[0] follows, or does not if negated
	behind     // a character of set comes before, or does not if negated
	lineBegin
	lineEnd
	atomic    // the first way in which subs[0] matches, and no other way
	cluster   // an extended grapheme cluster, or the rest of one
	textBegin // \A
	textEnd   // \z
	lastLine  // \Z: the end, or a line break at the end of the text
	wordEdge  // \b, or \B if negated
)

type node struct {
	kind        kind
	set         *set
	subs        []*node
	least, most int // most < 0: no bound
	lazy        bool
	negated     bool
	letter      letters // if the node is a single letter inside of (?i:…)
}

// lengths returns the least and the most characters that the node matches; most is -1 if there is
// no bound.
func (n *node) lengths() (least, most int) {
	unbounded := false
	part := func(s *node) (least, most int) {
		least, most = s.lengths()
		unbounded = unbounded || most < 0
		return least, most
	}
	switch n.kind {
	case oneChar:
		return 1, 1
	case cluster:
		return 1, -1
	case sequence, atomic:
		for _, s := range n.subs {
			l, m := part(s)
			least, most = least+l, most+m
		}
	case choice:
		least, most = part(n.subs[0])
		for _, s := range n.subs[1:] {
			l, m := part(s)
			least, most = min(least, l), max(most, m)
		}
	case repetition:
		l, m := part(n.subs[0])
		least, most = l*n.least, m*n.most
		unbounded = unbounded || n.most < 0
	}
	if unbounded {
		most = -1
	}
	return least, most
}

type parser struct {
	in    string
	at    int
	depth int
	fold  bool // ignore case: (?i)
	line  bool // a dot matches line breaks: (?m)
}

func (p *parser) has(prefix string) bool { return strings.HasPrefix(p.in[p.at:], prefix) }

// alternatives reads to the end of a group.
func (p *parser) alternatives() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errors.New("groups are nested too deeply")
	}
	defer func() { p.depth-- }()
	alt := &node{kind: choice}
	cat := &node{kind: sequence}
	for p.at < len(p.in) && p.in[p.at] != ')' {
		if p.in[p.at] == '|' {
			p.at++
			alt.subs = append(alt.subs, cat)
			cat = &node{kind: sequence}
			continue
		}
		n, err := p.atom()
		if err == nil {
			n, err = p.quantified(n)
		}
		if err != nil {
			return nil, err
		}
		cat.subs = append(cat.subs, n)
	}
	if alt.subs == nil {
		return cat, nil
	}
	alt.subs = append(alt.subs, cat)
	return alt, nil
}

// atom reads a node that a quantifier may follow.
func (p *parser) atom() (*node, error) {
	var s *set
	var err error
	switch b := p.in[p.at]; b {
	case '(':
		return p.group()
	case '[':
		s, err = p.class()
	case '\\':
		if n := p.anchor(); n != nil {
			return n, nil
		}
		s, err = p.escape(false)
		if err == nil {
			return p.one(s)
		}
	case '^', '$':
		p.at++
		return &node{kind: map[byte]kind{'^': lineBegin, '$': lineEnd}[b]}, nil
	case '.':
		p.at++
		if s = not(between('\n', '\n')); p.line {
			s = newSet(func(rune) bool { return true })
		}
	case '*', '+', '?', '{', '}':
		err = fmt.Errorf("%c where nothing can be repeated", b)
	default:
		r, n := utf8.DecodeRuneInString(p.in[p.at:])
		p.at += n
		return p.one(between(r, r))
	}
	return &node{kind: oneChar, set: s}, err
}

// anchor reads an escape that matches either no character or several. It returns nil for other
// escapes.
func (p *parser) anchor() *node {
	if p.at+1 == len(p.in) {
		return nil
	}
	n := map[byte]*node{'A': {kind: textBegin}, 'z': {kind: textEnd}, 'Z': {kind: lastLine}, 'b': {kind: wordEdge},
		'B': {kind: wordEdge, negated: true}, 'X': {kind: cluster}, 'R': newline()}[p.in[p.at+1]]
	if n != nil {
		p.at += 2
	}
	return n
}

// newline returns the node of \R: \r\n, or one of the characters that end a line.
func newline() *node {
	char := func(s *set) *node { return &node{kind: oneChar, set: s} }
	feed, others := char(between('\n', '\n')), char(within([]span{{'\n', '\f'}, {0x85, 0x85}, {0x2028, 0x2029}}))
	both := &node{kind: sequence, subs: []*node{char(between('\r', '\r')), feed}}
	return &node{kind: atomic, subs: []*node{{kind: choice, subs: []*node{both, char(between('\r', '\r')), others}}}}
}

// one returns the node for a character outside classes.
func (p *parser) one(s *set) (*node, error) {
	n := &node{kind: oneChar}
	if p.fold {
		n.letter = letter(s.char)
	}
	var err error
	n.set, err = p.folded(s)
	return n, err
}

func (p *parser) open(prefix string) bool {
	ok := p.has(prefix)
	if ok {
		p.at += len(prefix)
	}
	return ok
}

func (p *parser) group() (*node, error) {
	n := &node{kind: ahead}
	fold, line := p.fold, p.line
	defer func() { p.fold, p.line = fold, line }()
	switch {
	case p.open("(?:"):
		n.kind = sequence
	case p.open("(?>"):
		n.kind = atomic
	case p.open("(?="):
	case p.open("(?!"):
		n.negated = true
	case p.open("(?<="):
		n.kind = behind
	case p.open("(?<!"):
		n.kind, n.negated = behind, true
	case p.name():
		n.kind = sequence
	case p.open("(?"):
		rest, err := p.options()
		if err != nil {
			return nil, err
		}
		if n.kind = sequence; rest { // up to the end of the enclosing group
			return p.alternatives()
		}
	default:
		p.at++
		n.kind = sequence
	}
	body, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if !p.open(")") {
		return nil, errors.New("a group that does not end")
	}
	for body.kind == sequence && len(body.subs) == 1 {
		body = body.subs[0]
	}
	switch n.kind {
	case sequence:
		return body, nil
	case behind:
		if body.kind != oneChar {
			return nil, errors.New("lookbehind for more than a character")
		}
		n.set = body.set
	default:
		n.subs = []*node{body}
	}
	return n, nil
}

// name reads the beginning of a group with a name.
func (p *parser) name() bool {
	end := strings.IndexByte(p.in[p.at:], '>')
	if !p.has("(?<") || end < 4 {
		return false
	}
	for i, b := range []byte(p.in[p.at+3 : p.at+end]) {
		if b|0x20 < 'a' || b|0x20 > 'z' {
			if b != '_' && (i == 0 || b < '0' || b > '9') {
				return false
			}
		}
	}
	p.at += end + 1
	return true
}

// options reads the options after (?, up to a colon or a parenthesis. After a parenthesis they
// apply to the rest of the group.
func (p *parser) options() (rest bool, err error) {
	on := true
	start := p.at
	for ; p.at < len(p.in); p.at++ {
		switch p.in[p.at] {
		case 'i':
			p.fold = on
		case 'm':
			p.line = on
		case '-':
			if !on {
				return false, errors.New("options with two hyphens")
			}
			on = false
		case ':', ')':
			if p.at == start {
				return false, errors.New("a group with no options")
			}
			p.at++
			return p.in[p.at-1] == ')', nil
		default:
			return false, fmt.Errorf("a group beginning with (?%.2s", p.in[start:])
		}
	}
	return false, errors.New("a group that does not end")
}

// quantified reads the quantifiers after n.
func (p *parser) quantified(n *node) (*node, error) {
	if p.at == len(p.in) {
		return n, nil
	}
	rep := &node{kind: repetition, subs: []*node{n}, most: -1}
	interval := false
	switch p.in[p.at] {
	case '*':
	case '+':
		rep.least = 1
	case '?':
		rep.most = 1
	case '{':
		interval = true
		if err := p.interval(rep); err != nil {
			return nil, err
		}
	default:
		return n, nil
	}
	p.at++
	if least, _ := n.lengths(); least == 0 {
		return nil, errors.New("repeating a group that may be empty")
	}
	switch {
	case interval && p.has("?") && rep.least == rep.most:
		return nil, errors.New("{n}?") // syntaxes disagree about its meaning
	case p.has("?"):
		p.at++
		rep.lazy = true
	case interval && p.has("+"): // not a possessive quantifier in Oniguruma
		return p.quantified(rep)
	case p.has("+"):
		p.at++
		return possessive(rep), nil
	}
	if p.at < len(p.in) && strings.IndexByte("*+?{", p.in[p.at]) >= 0 {
		return nil, errors.New("a quantifier after a quantifier")
	}
	return rep, nil
}

// interval reads {n}, {n,}, {,m} or {n,m} up to the brace.
func (p *parser) interval(rep *node) error {
	end := strings.IndexByte(p.in[p.at:], '}')
	if end < 0 {
		return errors.New("{ without }")
	}
	low, high, two := strings.Cut(p.in[p.at+1:p.at+end], ",")
	if !two {
		high = low
	}
	number := func(s string, none int) (int, error) {
		if s == "" && two {
			return none, nil
		}
		v, err := strconv.ParseUint(s, 10, 31)
		if err != nil || v > maxRepeat {
			return 0, fmt.Errorf("repeating {%s}", p.in[p.at+1:p.at+end])
		}
		return int(v), nil
	}
	var err error
	if rep.least, err = number(low, 0); err == nil {
		rep.most, err = number(high, -1)
	}
	if err == nil && (rep.most >= 0 && rep.least > rep.most || rep.most == 0 || low == "" && high == "") {
		err = fmt.Errorf("repeating {%s}", p.in[p.at+1:p.at+end])
	}
	p.at += end
	return err
}

// possessive returns a repetition that does not give back characters. For a repetition of a set it
// forbids the next character to be in the set, which takes less memory than an atomic group.
func possessive(rep *node) *node {
	char := rep.subs[0]
	if char.kind != oneChar {
		return &node{kind: atomic, subs: []*node{rep}}
	}
	none := &node{kind: ahead, negated: true, subs: []*node{char}}
	if rep.most == 1 {
		return &node{kind: choice, subs: []*node{char, none}}
	}
	return &node{kind: sequence, subs: []*node{rep, none}}
}
