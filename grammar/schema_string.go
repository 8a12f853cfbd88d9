package grammar

import (
	"unicode/utf8"
)

// This file has the strings of JSON schemas.

const (
	offsetOfTime = `(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`
	timeOfDay    = `([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?` + offsetOfTime
	leapYear     = `([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)`
	fullDate     = `([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|` +
		leapYear + `-02-29)`
	mailAtom  = "[A-Za-z0-9_+-]{1,30}"
	hostLabel = `[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?`
	byteOfIP  = `(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])`
)

// formats are as RFC 3339, 4122 and 5321 have them, without leap seconds, and mail addresses without
// quotes and comments.
var formats = map[string]string{
	"date":      fullDate,
	"time":      timeOfDay,
	"date-time": fullDate + "T" + timeOfDay,
	"uuid":      `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`,
	"email":     mailAtom + `(\.` + mailAtom + `)?@` + hostLabel + `(\.` + hostLabel + `){1,3}`,
	"ipv4":      byteOfIP + `(\.` + byteOfIP + `){3}`,
}

// isFormat reports whether s is the value of the keyword format.
func (s schemaAt) isFormat() bool { return s.path.key == "format" }

// string is the strings that f allows.
func (c *schemaCompiler) string(f *facts) (*expr, error) {
	forms := append(append(schemas{}, f.patterns...), f.formats...)
	limited := f.minLength > 0 || f.maxLength >= 0
	if len(forms) > 1 || len(forms) == 1 && limited {
		return nil, errorf(ErrUnsupported, "%s: more than one of pattern, format and minLength with maxLength", f.path)
	}
	if len(forms) == 0 {
		if f.maxLength >= 0 && f.maxLength < f.minLength {
			return none, nil
		}
		if !limited {
			return c.part(anyString), nil
		}
		return concat(literal(`"`), repeat(c.part(oneCharacter), f.minLength, f.maxLength), literal(`"`)), nil
	}
	s := forms[0]
	pattern, search := s.text, true
	if s.isFormat() {
		if pattern = formats[s.text]; pattern == "" {
			return nil, errorf(ErrUnsupported, "%s: the format %.60q", s.path, s.text)
		}
		search = false
	}
	e, err := regexpExpr(pattern, jsonRunes{}, search)
	if err != nil {
		return nil, errorf(err, "%s", s.path)
	}
	return concat(literal(`"`), e, literal(`"`)), nil
}

// number is the numbers that f allows.
func (c *schemaCompiler) number(f *facts) *expr {
	if !f.integer {
		return numbersBetween(f.lo, f.hi)
	}
	return integersBetween(f.lo.unlessFar(-1).integer(1), f.hi.unlessFar(1).integer(-1))
}

// A part is an expression that all schemas share, made a rule when it is first needed.
type part int

const (
	space        part = iota // after { [ , and before } ]
	oneCharacter             // of a string
	anyString
	beyondLetters // a character in the spelling of quote that is not itself there, or not of ASCII
	restOfName    // in that spelling, with the quote that ends it
	parts
)

func (c *schemaCompiler) part(p part) *expr {
	if c.parts[p] != nil {
		return call(c.parts[p].rule)
	}
	var e *expr
	switch p {
	case space:
		e = optional(alt(literal(" "), concat(literal("\n"), repeat(literal(" "), 0, 20))))
	case oneCharacter:
		e = stringCharacter()
	case anyString:
		e = concat(literal(`"`), star(c.part(oneCharacter)), literal(`"`))
	case beyondLetters:
		e = jsonRunes{}.class([]runeRange{{0, 0x1f}, {'"', '"'}, {'\\', '\\'}, {0x80, utf8.MaxRune}})
	case restOfName:
		e = concat(star(jsonRunes{}.class([]runeRange{{0, utf8.MaxRune}})), literal(`"`))
	}
	c.parts[p] = call(c.rule(nil, e))
	return c.parts[p]
}

// stringCharacter is one character of a JSON string in any spelling, halves of surrogate pairs
// only together.
func stringCharacter() *expr {
	hex := class([]runeRange{{'0', '9'}, {'a', 'f'}, {'A', 'F'}})
	d := class([]runeRange{{'d', 'd'}, {'D', 'D'}})
	notD := class([]runeRange{{'0', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}})
	below8 := class([]runeRange{{'0', '7'}})
	highs := class([]runeRange{{'8', '9'}, {'a', 'b'}, {'A', 'B'}})
	lows := class([]runeRange{{'c', 'f'}, {'C', 'F'}})
	escape := alt(
		class([]runeRange{{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}}),
		concat(literal("u"), alt(
			concat(notD, hex, hex, hex),
			concat(d, below8, hex, hex),
			concat(d, highs, hex, hex, literal(`\u`), d, lows, hex, hex))))
	return alt(class(negated([]runeRange{{0, 0x1f}, {'"', '"'}, {'\\', '\\'}})), concat(literal(`\`), escape))
}
