// Calls whose arguments are literals of other syntaxes than JSON.

package answer

import (
	"slices"
	"strings"
)

var (
	pythonSyntax = &syntax{open: "(", end: ")", is: "=", quotes: []string{`"`, "'"}, python: true, listed: true, constants: map[string]string{"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}}
	gemmaSyntax  = &syntax{before: "call:", open: "{", end: "}", is: ":", quotes: []string{gemmaQuote}, bareKeys: true, constants: map[string]string{"true": "true", "false": "false", "null": "null", "None": "null"}}
)

// pythonHead reads the beginning of a list, or the name of a call. A list may have objects instead.
func (p *Parser) pythonHead(r *reader) *start {
	r.space()
	if r.peek() == '[' {
		r.at++
		p.call.listed = true
		r.space()
		if r.peek() == '{' {
			return &start{state: inObject}
		}
	}
	return literalHead(r, pythonSyntax)
}

func (p *Parser) gemmaHead(r *reader) *start { return literalHead(r, gemmaSyntax) }

// literalHead reads the name of a call.
func literalHead(r *reader, s *syntax) *start {
	r.space()
	if s.before != "" && !r.literal(s.before) {
		return nil
	}
	name := r.word(s.open)
	r.space()
	if name == "" || !r.literal(s.open) {
		return nil
	}
	return &start{state: beforeArgument, name: name, syntax: s}
}

// nextHead reads the name of a call after another one.
func (p *Parser) nextHead() bool {
	r := reader{in: p.in}
	return p.headed(&r, literalHead(&r, p.call.literals.syntax))
}

// literals is the state of a parser in arguments that are literals.
type literals struct {
	syntax *syntax
	next   expected
	stack  []byte          // the brackets that are open, as kinds has them; the first is that of the arguments
	opens  []int           // where each of them is in the JSON of the arguments
	quote  string          // around the string that is read
	raw    bool            // the string has no escapes
	key    int             // where the key that is read begins in the JSON of the arguments
	keyed  bool            // a key of a map is read as a value
	names  map[string]bool // of arguments
}

// The kinds of brackets: those of JSON, and in the syntax of Python
const (
	aMap     = '{'
	aList    = '['
	aGroup   = '(' // around one value unless a comma follows the value
	aTuple   = 't'
	mapOrSet = '?' // { before the first comma or colon
	aSet     = 's'
)

// argument reads a part of the arguments: a name, a value, a bracket, a comma, or as much of a
// string as is there.
func (p *Parser) argument() bool {
	c := &p.call
	if c.literals.next == inString || c.literals.next == inKey {
		return p.quoted()
	}
	r := reader{in: p.in}
	r.blank(c.literals.syntax.python)
	l := c.literals // changed only if the part is whole
	args, ok := l.part(&r, c.args)
	switch {
	case r.short && !p.ended:
		return false
	case !ok || r.short:
		return p.fail()
	}
	p.take(r.at)
	c.literals, c.args = l, args
	if len(l.stack) == 0 {
		p.state = afterArguments
	}
	return true
}

// part passes a part that is not within a string, and appends its JSON.
func (l *literals) part(r *reader, dst []byte) (all []byte, ok bool) {
	if l.next == afterString {
		if opens, ok := l.begins(r); opens || !ok || r.short {
			l.next = inString // which joins the one before
			return dst, ok
		}
		dst, l.next = append(dst, '"'), l.afterValue()
	}
	maybeSet := l.next == aColon && l.top() == mapOrSet
	if (l.next != aColon && l.next != aValue || maybeSet) && r.literal(l.end()) {
		return l.closed(dst), true
	}
	switch l.next {
	case aColon:
		if maybeSet && r.literal(",") {
			dst[l.open()] = '['
			l.become(aSet)
			l.next = valueOrEnd
			return dst, true
		}
		l.next, l.keyed = aValue, false
		if !r.literal(l.is()) {
			return dst, false
		}
		if maybeSet {
			l.key = l.open() + 1
			l.become(aMap)
		}
		if dst, ok = asKey(dst, l.key); !ok {
			return dst, false
		}
		return append(dst, ": "...), true
	case commaOrEnd:
		if l.top() == aGroup {
			l.become(aTuple)
		}
		l.next = l.first()
		return dst, r.literal(",")
	}
	if b := dst[len(dst)-1]; l.next != aValue && b != '{' && b != '[' {
		dst = append(dst, ", "...)
	}
	switch {
	case l.next == keyOrEnd && l.syntax.python && len(l.stack) > 1:
		l.key, l.keyed = len(dst), true
		return l.value(r, dst)
	case l.next == keyOrEnd:
		return l.name(r, dst)
	}
	return l.value(r, dst)
}

func (l *literals) top() byte { return l.stack[len(l.stack)-1] }

// open returns where the bracket that is open is in the JSON.
func (l *literals) open() int { return l.opens[len(l.opens)-1] }

// become decides what the bracket that is open is.
func (l *literals) become(kind byte) {
	l.stack = append(slices.Clone(l.stack[:len(l.stack)-1]), kind)
}

// closed closes the bracket that is open.
func (l *literals) closed(dst []byte) []byte {
	kind, open := l.top(), l.open()
	empty := len(dst) == open+1
	l.stack, l.opens = l.stack[:len(l.stack)-1], l.opens[:len(l.opens)-1]
	switch {
	case kind == aGroup && !empty:
		dst = slices.Delete(dst, open, open+1)
	case kind == aMap || kind == mapOrSet && empty:
		dst = append(dst, '}')
	default:
		dst[open] = '['
		dst = append(dst, ']')
	}
	l.next = commaOrEnd
	if len(l.stack) > 0 {
		l.next = l.afterValue()
	}
	return dst
}

// afterValue returns what follows a value.
func (l *literals) afterValue() expected {
	if l.keyed || l.top() == mapOrSet {
		return aColon
	}
	return commaOrEnd
}

// certain returns how much of the JSON of the arguments can no longer change.
func (l *literals) certain(args []byte) int {
	n := len(args)
	if l.keyed {
		n = l.key
	}
	for i, kind := range l.stack {
		if kind == aGroup || kind == mapOrSet {
			return min(n, l.opens[i])
		}
	}
	return n
}

// first returns what may follow the bracket that is open, or a comma in it.
func (l *literals) first() expected {
	if l.top() == aMap {
		return keyOrEnd
	}
	return valueOrEnd
}

// end returns the bracket that closes the one that is open.
func (l *literals) end() string {
	switch {
	case len(l.stack) == 1:
		return l.syntax.end
	case l.top() == aList:
		return "]"
	case l.top() == aGroup || l.top() == aTuple:
		return ")"
	}
	return "}"
}

// is returns the text between a name and its value.
func (l *literals) is() string {
	if len(l.stack) == 1 {
		return l.syntax.is
	}
	return ":"
}

// newName reports whether the name of an argument comes for the first time. Names in maps may come
// again, as in JSON.
func (l *literals) newName(name string) bool {
	if len(l.stack) > 1 {
		return true
	}
	known := l.names[name]
	l.names[name] = true
	return !known
}

// name passes a name and the text between it and its value, or the quote before a name.
func (l *literals) name(r *reader, dst []byte) (all []byte, ok bool) {
	if l.quote = r.quote(l.syntax); l.quote != "" {
		l.key, l.next = len(dst), inKey
		return append(dst, '"'), true
	}
	name := r.word(l.is() + ",()[]{}'\"")
	r.space()
	l.next = aValue
	ok = name != "" && (len(l.stack) == 1 || l.syntax.bareKeys) && r.literal(l.is()) && !r.short && l.newName(name)
	return append(append(appendText(append(dst, '"'), name), '"'), ": "...), ok
}

// value passes a word, or what begins another value.
func (l *literals) value(r *reader, dst []byte) (all []byte, ok bool) {
	if opens, ok := l.begins(r); opens || !ok || r.short {
		l.next = inString
		return append(dst, '"'), ok
	}
	if kind := r.peek(); kind == '[' || kind == '{' || kind == '(' && l.syntax.python {
		const deepest = 100
		hashable := kind == '(' && !l.keyed || !l.keyed && l.top() != mapOrSet && l.top() != aSet
		r.at++
		text := kind
		switch {
		case kind == '(':
			text = '['
		case kind == '{' && l.syntax.python:
			kind = mapOrSet
		}
		l.stack, l.opens = append(l.stack, kind), append(l.opens, len(dst))
		l.next = l.first()
		return append(dst, text), hashable && len(l.stack) <= 1+deepest
	}
	l.next = l.afterValue()
	if l.syntax.python {
		return r.pythonWord(dst, l.syntax.constants)
	}
	word, ok := r.constant(",)]}")
	if constant, known := l.syntax.constants[word]; known {
		return append(dst, constant...), ok
	}
	return append(dst, word...), ok && isNumber(word)
}

// begins passes what begins a string: a quote, and before it the prefix of a string of Python. ok
// is false for strings that JSON does not have, those of bytes and those with expressions.
func (l *literals) begins(r *reader) (opens, ok bool) {
	l.raw = false
	if !l.syntax.python {
		l.quote = r.quote(l.syntax)
		return l.quote != "", true
	}
	from := r.at
	for c := r.peek(); r.at-from < 2 && strings.IndexByte("rRuUbBfFtT", c) >= 0 && !r.short; c = r.peek() {
		r.at++
	}
	prefix := strings.ToLower(r.in[from:r.at])
	c := r.peek()
	if r.short || c != '"' && c != '\'' {
		r.at = from
		return false, true
	}
	l.quote, l.raw = string(c), prefix == "r"
	r.at++
	if r.peek() == c {
		r.at++
		if r.peek() == c {
			r.at++
			l.quote = strings.Repeat(l.quote, 3)
		} else {
			r.at-- // of an empty string
		}
	}
	return true, prefix == "" || prefix == "r" || prefix == "u"
}

// quote passes what begins a string, and returns it.
func (r *reader) quote(s *syntax) string {
	for _, q := range s.quotes {
		if r.literal(q) {
			return q
		}
	}
	return ""
}

// quoted reads a string up to its closing quote or to an escape, or as far as the text goes.
func (p *Parser) quoted() bool {
	c := &p.call
	l := &c.literals
	marks := []string{l.quote}
	if l.syntax.python {
		marks = append(marks, `\`)
	}
	n, mark := find(p.in, marks)
	if mark == "" {
		n = certain(p.in, marks, false)
	}
	c.args = appendText(c.args, p.in[:n])
	p.take(n)
	switch mark {
	case "":
		return p.ended && p.fail()
	case l.quote:
		p.take(len(mark))
		return p.closeString()
	}
	r := reader{in: p.in}
	args, ok := r.escape(c.args, l.raw)
	switch {
	case r.short && !p.ended:
		return false
	case !ok || r.short:
		return p.fail()
	}
	p.take(r.at)
	c.args = args
	return true
}

// closeString ends a string. The JSON of one that another may follow remains open.
func (p *Parser) closeString() bool {
	c := &p.call
	l := &c.literals
	switch {
	case l.next == inKey:
		c.args = append(c.args, '"')
		l.next = aColon
		return l.newName(unquote(c.args[l.key:])) || p.fail()
	case l.syntax.python:
		l.next = afterString
	default:
		c.args = append(c.args, '"')
		l.next = l.afterValue()
	}
	return true
}

// isNumber reports whether a word is a number of JSON.
func isNumber(word string) bool {
	s := scanner{next: aValue, stack: []byte{'['}}
	for i := range len(word) {
		if c := word[i]; strings.IndexByte("+-.eE0123456789", c) < 0 || !s.step(c) {
			return false
		}
	}
	return word != "" && s.step(',')
}

// endOfArguments reads what follows a call: another one, or the end.
func (p *Parser) endOfArguments() bool {
	c := &p.call
	s := c.literals.syntax
	r := reader{in: p.in}
	r.space()
	another := false
	if s.listed {
		if r.literal(",") {
			another = true
		} else if c.listed {
			if !r.literal("]") && !r.short {
				return p.fail()
			}
			r.space()
		}
	}
	closed := another
	for _, marker := range c.close {
		closed = closed || r.literal(marker)
	}
	if r.short && !closed && !p.ended {
		return false
	}
	if !closed && !r.short { // calls on lines of their own
		if another = s.listed && !c.listed; !another {
			return p.fail()
		}
		r.at = 0
	}
	p.take(r.at)
	p.endCall()
	p.state = inText
	if another {
		p.nextCall()
		p.call.literals.syntax = s
		p.state = beforeNextCall
	}
	return true
}
