package tokenizer

// Patterns in Oniguruma's syntax, translated for Go's regexp.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// translate rewrites a pattern so that Go's regexp finds what Oniguruma does:
// classes such as \s and \p{L} are those of Oniguruma's Unicode version, and a
// class may hold another. It refuses what looks around and what it does not know.
func translate(source string) (string, error) {
	if len(source) > maxPattern {
		return "", fmt.Errorf("longer than %d bytes", maxPattern)
	}
	t := translator{in: source}
	for t.at < len(t.in) {
		if err := t.item(); err != nil {
			return "", err
		}
	}
	return t.out.String(), nil
}

// maxPattern bounds the work of loading.
const (
	maxPattern = 2048
	maxSets    = 256
)

type translator struct {
	in  string
	at  int
	set int // classes so far
	out strings.Builder
}

func (t *translator) item() error {
	switch b := t.in[t.at]; b {
	case '\\':
		set, err := t.escape()
		if err != nil {
			return err
		}
		t.out.WriteString(set.class())
	case '[':
		set, err := t.class()
		if err != nil {
			return err
		}
		t.out.WriteString(set.class())
	case '(':
		if strings.HasPrefix(t.in[t.at:], "(?") && !strings.HasPrefix(t.in[t.at:], "(?:") {
			return errors.New("a group beginning with (?")
		}
		t.out.WriteByte(b)
		t.at++
	case '{':
		if strings.HasPrefix(t.in[t.at:], "{,") {
			return errors.New("{,")
		}
		t.out.WriteByte(b)
		t.at++
	case '^', '$', '.':
		return fmt.Errorf("%c", b)
	case '+', '*', '?', '}':
		t.out.WriteByte(b)
		t.at++
		if strings.HasPrefix(t.in[t.at:], "+") {
			return errors.New("a possessive quantifier")
		}
	default:
		r, n := utf8.DecodeRuneInString(t.in[t.at:])
		t.out.WriteRune(r)
		t.at += n
	}
	return nil
}

// runeSet holds code points by ranges that need not be in order.
type runeSet struct {
	ranges  [][2]rune
	negated bool
}

func (s *runeSet) add(lo, hi rune) { s.ranges = append(s.ranges, [2]rune{lo, hi}) }

// flat gives the ranges with the negation carried out.
func (s *runeSet) flat() [][2]rune {
	if !s.negated {
		return s.ranges
	}
	member := make([]bool, utf8.MaxRune+2)
	for _, r := range s.ranges {
		for c := r[0]; c <= r[1]; c++ {
			member[c] = true
		}
	}
	var out [][2]rune
	for c := rune(0); c <= utf8.MaxRune; c++ {
		if !member[c] {
			lo := c
			for c < utf8.MaxRune && !member[c+1] {
				c++
			}
			out = append(out, [2]rune{lo, c})
		}
	}
	return out
}

// class spells the set as a class of Go's regexp.
func (s *runeSet) class() string {
	var b strings.Builder
	b.WriteByte('[')
	if s.negated {
		b.WriteByte('^')
	}
	for _, r := range s.ranges {
		fmt.Fprintf(&b, `\x{%X}-\x{%X}`, r[0], r[1])
	}
	b.WriteByte(']')
	return b.String()
}

// ofProps is the set of characters with one of the properties.
func ofProps(p ucd.Props) *runeSet {
	s := new(runeSet)
	for c := rune(0); c <= utf8.MaxRune; c++ {
		if properties.Of(c)&p != 0 {
			lo := c
			for c < utf8.MaxRune && properties.Of(c+1)&p != 0 {
				c++
			}
			s.add(lo, c)
		}
	}
	return s
}

var propNames = map[string]ucd.Props{
	"L": ucd.L, "N": ucd.N, "P": ucd.P, "S": ucd.S, "M": ucd.M,
	"Lu": ucd.Lu, "Ll": ucd.Ll, "Lt": ucd.Lt, "Lm": ucd.Lm, "Lo": ucd.Lo,
}

// escape reads a sequence that begins with a backslash.
func (t *translator) escape() (*runeSet, error) {
	t.at++
	if t.set++; t.set > maxSets {
		return nil, errors.New("too many escapes")
	}
	if t.at == len(t.in) {
		return nil, errors.New("a backslash at the end")
	}
	r, n := utf8.DecodeRuneInString(t.in[t.at:])
	t.at += n
	var set *runeSet
	switch r {
	case 's', 'S':
		set = ofProps(ucd.White)
	case 'd', 'D':
		set = ofProps(ucd.Digit)
	case 'w', 'W':
		set = ofProps(ucd.Word)
	case 'p', 'P':
		return t.property(r == 'P')
	default:
		if i := strings.IndexRune("nrtfv", r); i >= 0 {
			r = rune("\n\r\t\f\v"[i])
		} else if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf {
			return nil, fmt.Errorf(`\%c`, r)
		}
		return &runeSet{ranges: [][2]rune{{r, r}}}, nil
	}
	set.negated = r < 'a'
	return set, nil
}

// property reads the braces of \p{…}.
func (t *translator) property(negated bool) (*runeSet, error) {
	end := strings.IndexByte(t.in[t.at:], '}')
	if end < 1 || t.in[t.at] != '{' {
		return nil, errors.New(`\p without a name`)
	}
	name := t.in[t.at+1 : t.at+end]
	t.at += end + 1
	if strings.HasPrefix(name, "^") {
		name, negated = name[1:], !negated
	}
	p, ok := propNames[name]
	if !ok {
		return nil, fmt.Errorf(`\p{%s}`, name)
	}
	set := ofProps(p)
	set.negated = negated
	return set, nil
}

// class reads a class in brackets, and those that it holds.
func (t *translator) class() (*runeSet, error) {
	set := new(runeSet)
	t.at++
	if t.set++; t.set > maxSets {
		return nil, errors.New("too many classes")
	}
	if strings.HasPrefix(t.in[t.at:], "^") {
		set.negated = true
		t.at++
	}
	if strings.HasPrefix(t.in[t.at:], "]") {
		return nil, errors.New("an empty class")
	}
	for t.at < len(t.in) {
		if t.in[t.at] == ']' {
			t.at++
			return set, nil
		}
		low, err := t.member()
		if err != nil {
			return nil, err
		}
		if len(low.ranges) == 1 && !low.negated && low.ranges[0][0] == low.ranges[0][1] &&
			strings.HasPrefix(t.in[t.at:], "-") && !strings.HasPrefix(t.in[t.at:], "-]") {
			t.at++
			high, err := t.member()
			if err != nil {
				return nil, err
			}
			if len(high.ranges) != 1 || high.negated || high.ranges[0][0] != high.ranges[0][1] || high.ranges[0][0] < low.ranges[0][0] {
				return nil, errors.New("a range that is none")
			}
			low.ranges[0][1] = high.ranges[0][0]
		}
		set.ranges = append(set.ranges, low.flat()...)
	}
	return nil, errors.New("a class that does not end")
}

// withoutFractions drops ², ³, ¹, ¼, ½ and ¾, which Oniguruma counts as parts of
// words everywhere but in a class.
func withoutFractions(ranges [][2]rune) [][2]rune {
	var out [][2]rune
	for _, r := range ranges {
		for _, c := range "²³¹¼½¾" {
			if c >= r[0] && c <= r[1] {
				out = append(out, [2]rune{r[0], c - 1})
				r[0] = c + 1
			}
		}
		out = append(out, r)
	}
	return slices.DeleteFunc(out, func(r [2]rune) bool { return r[0] > r[1] })
}

// member reads one member of a class.
func (t *translator) member() (*runeSet, error) {
	rest := t.in[t.at:]
	switch {
	case rest == "":
		return nil, errors.New("a class that does not end")
	case rest[0] == '\\':
		set, err := t.escape()
		if err == nil && (rest[1] == 'w' || rest[1] == 'W') {
			set.ranges = withoutFractions(set.ranges)
		}
		return set, err
	case strings.HasPrefix(rest, "[:"):
		return nil, errors.New("a POSIX bracket")
	case rest[0] == '[':
		return t.class()
	case strings.HasPrefix(rest, "&&"):
		return nil, errors.New("&&")
	}
	r, n := utf8.DecodeRuneInString(rest)
	t.at += n
	return &runeSet{ranges: [][2]rune{{r, r}}}, nil
}
