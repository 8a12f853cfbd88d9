// The lexer: text outside tags, whitespace control, and the tokens inside.

package jinja

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

type kind uint8

const (
	tEOF   kind = iota
	tData       // text outside tags
	tBegin      // {% or {{
	tEnd        // %} or }}
	tName
	tString
	tInt
	tFloat
	tOp
)

type token struct {
	kind kind
	text string // of tString: the value; of tBegin and tEnd: the delimiter without marks
	line int
}

type lexer struct {
	src    string
	pos    int
	tokens []token
}

func syntaxError(line int, format string, args ...any) error {
	return check.Errorf(fault.ErrTemplateSyntax, "line %d: %s", line, fmt.Sprintf(format, args...))
}

func (l *lexer) line() int { return l.lineAt(l.pos) }

func (l *lexer) lineAt(pos int) int { return 1 + strings.Count(l.src[:pos], "\n") }

func (l *lexer) emit(k kind, text string) {
	l.tokens = append(l.tokens, token{k, text, 0})
}

// lex cuts a template into tokens, the last of them tEOF.
func lex(src string) ([]token, error) {
	src = strings.ReplaceAll(src, "\r\n", "\n")
	src = strings.ReplaceAll(src, "\r", "\n")
	src = strings.TrimSuffix(src, "\n")
	l := &lexer{src: src}
	line, counted := 1, 0
	for l.pos < len(l.src) {
		before := len(l.tokens)
		if err := l.step(); err != nil {
			return nil, err
		}
		for i := before; i < len(l.tokens); i++ {
			l.tokens[i].line = line // of the tag's begin: enough for a message
		}
		line += strings.Count(l.src[counted:l.pos], "\n")
		counted = l.pos
	}
	l.emit(tEOF, "")
	l.tokens[len(l.tokens)-1].line = line
	return l.tokens, nil
}

// step consumes text up to a tag, and the tag.
func (l *lexer) step() error {
	at := -1
	for i := l.pos; i+1 < len(l.src); i++ {
		if l.src[i] == '{' && strings.IndexByte("{%#", l.src[i+1]) >= 0 {
			at = i
			break
		}
	}
	if at < 0 {
		l.data(l.src[l.pos:])
		l.pos = len(l.src)
		return nil
	}
	text, open := l.src[l.pos:at], l.src[at:at+2]
	mark := byte(0)
	if at+2 < len(l.src) {
		mark = l.src[at+2]
	}
	l.data(l.stripBefore(text, open, mark))
	l.pos = at + 2
	if mark == '-' || mark == '+' {
		l.pos++
	}
	switch open {
	case "{#":
		return l.comment()
	case "{%":
		if ok, err := l.raw(); ok || err != nil {
			return err
		}
	}
	return l.tag(open)
}

func (l *lexer) data(s string) {
	if s != "" {
		l.emit(tData, s)
	}
}

// stripBefore returns the text before a tag without the whitespace that the tag's mark, or
// lstrip_blocks, takes away.
func (l *lexer) stripBefore(text, open string, mark byte) string {
	switch {
	case mark == '-':
		return strings.TrimRightFunc(text, isSpace)
	case mark == '+' || open == "{{":
		return text
	}
	start := strings.LastIndexByte(text, '\n') + 1
	if start > 0 || l.pos == 0 || l.src[l.pos-1] == '\n' {
		if strings.TrimFunc(text[start:], isSpace) == "" {
			return text[:start]
		}
	}
	return text
}

// end consumes a closing delimiter if there is one here, and the white space after it that
// whitespace control removes.
func (l *lexer) end(closing string, trim bool) bool {
	rest := l.src[l.pos:]
	switch {
	case strings.HasPrefix(rest, "-"+closing):
		rest = rest[len(closing)+1:]
		l.pos = len(l.src) - len(strings.TrimLeftFunc(rest, isSpace))
		return true
	case trim && strings.HasPrefix(rest, "+"+closing):
		l.pos += len(closing) + 1
		return true
	case strings.HasPrefix(rest, closing):
		l.pos += len(closing)
		if trim && strings.HasPrefix(l.src[l.pos:], "\n") {
			l.pos++
		}
		return true
	}
	return false
}

func (l *lexer) comment() error {
	start := l.pos
	for ; l.pos < len(l.src); l.pos++ {
		if l.end("#}", true) {
			return nil
		}
	}
	return syntaxError(l.lineAt(start), "missing end of comment tag")
}

// raw consumes a raw block if the tag that was just opened begins one.
func (l *lexer) raw() (bool, error) {
	save := l.pos
	word := func(w string) bool {
		l.skipSpace()
		if !strings.HasPrefix(l.src[l.pos:], w) {
			return false
		}
		l.pos += len(w)
		l.skipSpace()
		return true
	}
	if !word("raw") || !l.end("%}", false) {
		l.pos = save
		return false, nil
	}
	start := l.pos
	for i := start; ; i++ {
		j := strings.Index(l.src[i:], "{%")
		if j < 0 {
			return true, syntaxError(l.lineAt(start), "missing end of raw directive")
		}
		i += j
		l.pos = i + 2
		mark := byte(0)
		if l.pos < len(l.src) {
			mark = l.src[l.pos]
		}
		if mark == '-' || mark == '+' {
			l.pos++
		}
		if word("endraw") && l.end("%}", true) {
			end := l.pos
			l.pos = start // where the line of the text begins
			l.data(l.stripBefore(l.src[start:i], "{%", mark))
			l.pos = end
			return true, nil
		}
	}
}

func (l *lexer) skipSpace() {
	l.pos = len(l.src) - len(strings.TrimLeftFunc(l.src[l.pos:], isSpace))
}

var closers = map[string]string{"{{": "}}", "{%": "%}"}

// tag consumes the tokens up to the closing delimiter. Inside brackets the delimiter's characters
// are operators: }} may end two dicts.
func (l *lexer) tag(open string) error {
	start := l.pos
	l.emit(tBegin, open)
	var brackets []byte
	for {
		l.skipSpace()
		if l.pos >= len(l.src) {
			return syntaxError(l.lineAt(start), "unexpected end of template in %s", open)
		}
		if len(brackets) == 0 && l.end(closers[open], open == "{%") {
			l.emit(tEnd, closers[open])
			return nil
		}
		if err := l.token(&brackets); err != nil {
			return err
		}
	}
}

var operators = []string{"**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}

func (l *lexer) token(brackets *[]byte) error {
	rest := l.src[l.pos:]
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == '\'' || r == '"':
		return l.str(byte(r))
	case r >= '0' && r <= '9':
		return l.number()
	case r == '_' || unicode.IsLetter(r):
		n := len(rest) - len(strings.TrimLeftFunc(rest, func(r rune) bool {
			return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		}))
		l.emit(tName, rest[:n])
		l.pos += n
		return nil
	}
	for _, op := range operators {
		if !strings.HasPrefix(rest, op) {
			continue
		}
		switch op[0] {
		case '(', '[', '{':
			*brackets = append(*brackets, op[0]+1+op[0]>>6) // ')' is '(' + 1; ']' and '}' are + 2
		case ')', ']', '}':
			n := len(*brackets)
			if n == 0 || (*brackets)[n-1] != op[0] {
				return syntaxError(l.line(), "unexpected %q", op)
			}
			*brackets = (*brackets)[:n-1]
		}
		l.emit(tOp, op)
		l.pos += len(op)
		return nil
	}
	return syntaxError(l.line(), "unexpected char %q", r)
}

func (l *lexer) str(quote byte) error {
	var b strings.Builder
	for i := l.pos + 1; i < len(l.src); i++ {
		switch c := l.src[i]; c {
		case quote:
			l.emit(tString, b.String())
			l.pos = i + 1
			return nil
		case '\\':
			n, err := escape(&b, l.src[i+1:])
			if err != nil {
				return syntaxError(l.line(), "%v", err)
			}
			i += n
		default:
			b.WriteByte(c)
		}
	}
	return syntaxError(l.line(), "unexpected char %q", quote)
}

// escape writes what follows a backslash, as Python's unicode-escape has it, and returns the number
// of bytes consumed.
func escape(b *strings.Builder, s string) (int, error) {
	if s == "" {
		return 0, fmt.Errorf("unfinished escape")
	}
	if i := strings.IndexByte("\n\\'\"abfnrtv", s[0]); i >= 0 {
		b.WriteString([]string{"", "\\", "'", "\"", "\a", "\b", "\f", "\n", "\r", "\t", "\v"}[i])
		return 1, nil
	}
	if n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]; n > 0 {
		if len(s) < n+1 {
			return 0, fmt.Errorf("truncated \\%c escape", s[0])
		}
		v, err := strconv.ParseUint(s[1:n+1], 16, 32)
		if err != nil || !utf8.ValidRune(rune(v)) {
			return 0, fmt.Errorf("bad \\%c escape", s[0])
		}
		b.WriteRune(rune(v))
		return n + 1, nil
	}
	if s[0] >= '0' && s[0] <= '7' {
		n, v := 0, rune(0)
		for n < 3 && n < len(s) && s[n] >= '0' && s[n] <= '7' {
			v = v*8 + rune(s[n]-'0')
			n++
		}
		b.WriteRune(v)
		return n, nil
	}
	if s[0] == 'N' {
		return 0, fmt.Errorf("\\N escapes are not supported")
	}
	b.WriteByte('\\')
	return 0, nil
}

var (
	floatToken = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?i)(\d+_)*\d+((\.(\d+_)*\d+)?e[-+]?(\d+_)*\d+|\.(\d+_)*\d+)`)
	})
	integerToken = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?i)(0b(_?[01])+|0o(_?[0-7])+|0x(_?[\da-f])+|[1-9](_?\d)*|0(_?0)*)`)
	})
)

func (l *lexer) number() error {
	rest := l.src[l.pos:]
	if len(rest) > 1 && strings.IndexByte("0123456789._eExXoObB", rest[1]) < 0 {
		l.emit(tInt, rest[:1])
		l.pos++
		return nil
	}
	kind, text := tFloat, floatToken().FindString(rest)
	if text == "" || l.src[l.pos-1] == '.' { // x.1.2 is x[1][2]
		kind, text = tInt, integerToken().FindString(rest)
	}
	l.emit(kind, strings.ReplaceAll(text, "_", ""))
	l.pos += len(text)
	return nil
}

// isSpace is Python's str.isspace for one character.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}
