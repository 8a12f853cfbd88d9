// Calls whose arguments are literals of other syntaxes than JSON.

package answer

import "strings"

var (
	pythonSyntax = &syntax{open: "(", end: ")", is: "=", quotes: []string{`"`, "'"}, escapes: true, listed: true, constants: map[string]string{"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}}
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

// literals is where a parser is in arguments that are literals.
type literals struct {
	syntax *syntax
	next   expected
	stack  []byte          // the brackets that are open, as JSON has them; the first is that of the arguments
	quote  string          // around the string that is read
	key    int             // where the key that is read begins in the JSON of the arguments
	names  map[string]bool // of arguments
}

// argument reads a part of the arguments: a name, a value, a bracket, a comma, or as much of a string as is there.
func (p *Parser) argument() bool {
	c := &p.call
	if c.literals.next == inString || c.literals.next == inKey {
		return p.quoted()
	}
	r := reader{in: p.in}
	r.space()
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
	if l.next != aColon && l.next != aValue && r.literal(l.end()) {
		top := len(l.stack) - 1
		dst = append(dst, l.stack[top]+'}'-'{') // the same distance as from [ to ]
		l.stack, l.next = l.stack[:top], commaOrEnd
		return dst, true
	}
	switch l.next {
	case aColon:
		l.next = aValue
		return append(dst, ": "...), r.literal(l.is())
	case commaOrEnd:
		l.next = l.first()
		return dst, r.literal(",")
	}
	if b := dst[len(dst)-1]; l.next != aValue && b != '{' && b != '[' {
		dst = append(dst, ", "...)
	}
	if l.next == keyOrEnd {
		return l.name(r, dst)
	}
	return l.value(r, dst)
}

// first returns what may follow the bracket that is open, or a comma in it.
func (l *literals) first() expected {
	if l.stack[len(l.stack)-1] == '{' {
		return keyOrEnd
	}
	return valueOrEnd
}

// end returns the bracket that closes the one that is open.
func (l *literals) end() string {
	switch {
	case len(l.stack) == 1:
		return l.syntax.end
	case l.first() == keyOrEnd:
		return "}"
	}
	return "]"
}

// is returns the text between a name and its value.
func (l *literals) is() string {
	if len(l.stack) == 1 {
		return l.syntax.is
	}
	return ":"
}

// newName reports whether the name of an argument comes for the first time. Names in maps may come again, as in JSON.
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
	if l.quote = r.quote(l.syntax); l.quote != "" {
		l.next = inString
		return append(dst, '"'), true
	}
	if b := r.peek(); b == '[' || b == '{' {
		const deepest = 100
		r.at++
		l.stack = append(l.stack, b)
		l.next = l.first()
		return append(dst, b), len(l.stack) <= 1+deepest
	}
	l.next = commaOrEnd
	from := r.at
	for c := r.peek(); !r.short && strings.IndexByte(",)]}", c) < 0 && !isSpace(c); c = r.peek() {
		if r.at++; r.at-from > maxWord {
			return dst, false
		}
	}
	word := r.in[from:r.at]
	if constant, known := l.syntax.constants[word]; known {
		return append(dst, constant...), true
	}
	return append(dst, word...), isNumber(word)
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
	var at int
	if l.syntax.escapes {
		at = strings.IndexAny(p.in, l.quote+`\`)
	} else {
		at = strings.Index(p.in, l.quote)
	}
	n := at
	if at < 0 {
		n = certain(p.in, []string{l.quote}, false)
	}
	c.args = appendText(c.args, p.in[:n])
	p.take(n)
	if at < 0 {
		return p.ended && p.fail()
	}
	r := reader{in: p.in}
	if !r.literal(l.quote) {
		args, ok := r.escape(c.args)
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
	p.take(r.at)
	c.args = append(c.args, '"')
	if l.next == inString {
		l.next = commaOrEnd
		return true
	}
	l.next = aColon
	return l.newName(unquote(c.args[l.key:])) || p.fail()
}

// escape appends what a backslash and the byte after it mean in Python. Those that it does not know stay as they are.
func (r *reader) escape(dst []byte) (all []byte, ok bool) {
	r.at++
	c := r.peek()
	if r.short {
		return dst, false
	}
	r.at++
	switch c {
	case '"', '\\':
		return append(dst, '\\', c), true
	case '\'':
		return append(dst, c), true
	case 'n', 't', 'r', 'b', 'f':
		return append(dst, '\\', c), true
	case 'u':
		if len(r.in)-r.at < 4 {
			r.at, r.short = len(r.in), true
			return dst, false
		}
		digits := r.in[r.at : r.at+4]
		r.at += 4
		return append(append(dst, `\u`...), digits...), strings.Trim(digits, "0123456789abcdefABCDEF") == ""
	case '\n':
		return dst, true
	}
	r.at-- // the byte is text
	return append(dst, `\\`...), true
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
