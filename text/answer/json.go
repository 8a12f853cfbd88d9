// JSON byte by byte.

package answer

// expected is the kind of token that a scanner expects next.
type expected byte

const (
	aValue expected = iota
	valueOrEnd
	keyOrEnd
	aKey
	aColon
	commaOrEnd
	inString
	inKey
	afterEscape
	hexDigit
	inLiteral
	afterMinus
	afterZero
	inInteger
	afterPoint
	inFraction
	afterE
	afterESign
	inExponent
	afterString // which another string of Python may continue
)

// maxDepth is the largest depth of nested JSON.
const maxDepth = 1000

// scanner checks the JSON of an object, to the letter of RFC 8259.
type scanner struct {
	next  expected
	stack []byte   // the brackets that are open
	back  expected // after an escape: inString or inKey
	rest  string   // of a literal, or as many hexadecimal digits
}

// step takes a byte. It is false if the byte may not come here.
func (s *scanner) step(c byte) bool {
	switch s.next {
	case inString, inKey:
		switch {
		case c == '"' && s.next == inKey:
			s.next = aColon
		case c == '"':
			s.next = commaOrEnd
		case c == '\\':
			s.back, s.next = s.next, afterEscape
		}
		return c >= ' '
	case afterEscape:
		switch c {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			s.next = s.back
		case 'u':
			s.next, s.rest = hexDigit, "0000"
		default:
			return false
		}
		return true
	case hexDigit:
		if s.rest = s.rest[1:]; s.rest == "" {
			s.next = s.back
		}
		return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
	case inLiteral:
		ok := c == s.rest[0]
		if s.rest = s.rest[1:]; s.rest == "" {
			s.next = commaOrEnd
		}
		return ok
	}
	if s.next >= afterMinus {
		if used, ok := s.number(c); used || !ok {
			return ok
		}
	}
	return isSpace(c) || s.structure(c)
}

// number takes a byte of a number, or of what follows it.
func (s *scanner) number(c byte) (used, ok bool) {
	digit := c >= '0' && c <= '9'
	switch at := s.next; {
	case at == afterMinus && c == '0':
		s.next = afterZero
	case at == afterMinus && digit:
		s.next = inInteger
	case at == afterPoint && digit:
		s.next = inFraction
	case at == afterE && (c == '+' || c == '-'):
		s.next = afterESign
	case (at == afterE || at == afterESign) && digit:
		s.next = inExponent
	case at == afterMinus || at == afterPoint || at == afterE || at == afterESign:
		return true, false
	case at != afterZero && digit:
	case (at == afterZero || at == inInteger) && c == '.':
		s.next = afterPoint
	case at != inExponent && c|0x20 == 'e':
		s.next = afterE
	default:
		s.next = commaOrEnd
		return false, true
	}
	return true, true
}

// structure takes a byte between values.
func (s *scanner) structure(c byte) bool {
	value := s.next == aValue || s.next == valueOrEnd
	switch {
	case c == '"' && value:
		s.next = inString
	case c == '"' && (s.next == aKey || s.next == keyOrEnd):
		s.next = inKey
	case c == ':' && s.next == aColon:
		s.next = aValue
	case c == ',' && s.next == commaOrEnd:
		if s.next = aValue; s.top() == '{' {
			s.next = aKey
		}
	case c == '}' && s.top() == '{' && (s.next == keyOrEnd || s.next == commaOrEnd), c == ']' && s.top() == '[' && (s.next == valueOrEnd || s.next == commaOrEnd):
		s.stack, s.next = s.stack[:len(s.stack)-1], commaOrEnd
	case !value || len(s.stack) == maxDepth:
		return false
	case c == '{':
		s.stack, s.next = append(s.stack, c), keyOrEnd
	case len(s.stack) == 0:
		return false
	case c == '[':
		s.stack, s.next = append(s.stack, c), valueOrEnd
	case c == '-':
		s.next = afterMinus
	case c == '0':
		s.next = afterZero
	case c > '0' && c <= '9':
		s.next = inInteger
	case c == 't':
		s.next, s.rest = inLiteral, "rue"
	case c == 'f':
		s.next, s.rest = inLiteral, "alse"
	case c == 'n':
		s.next, s.rest = inLiteral, "ull"
	default:
		return false
	}
	return true
}

func (s *scanner) top() byte {
	if len(s.stack) == 0 {
		return 0
	}
	return s.stack[len(s.stack)-1]
}
