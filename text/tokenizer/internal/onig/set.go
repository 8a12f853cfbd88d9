package onig

// Sets of characters: \s, \p{L}, [^\r\n[a-z]&&\p{L}].

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// set is a set of characters, with a table for ASCII.
type set struct {
	ascii [utf8.RuneSelf / 64]uint64
	has   func(r rune) bool
	char  rune // the only member, or -1
	spans []span
}

// span is the characters from low to high, both included.
type span struct{ low, high rune }

func newSet(has func(r rune) bool) *set {
	s := &set{has: has, char: -1}
	for r := range rune(utf8.RuneSelf) {
		if has(r) {
			s.ascii[r/64] |= 1 << (r % 64)
		}
	}
	return s
}

func between(low, high rune) *set {
	s := within([]span{{low, high}})
	if low == high {
		s.char = low
	}
	return s
}

// within returns the set of the characters of all spans.
func within(spans []span) *set {
	if len(spans) == 0 {
		return newSet(func(rune) bool { return false })
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.low, b.low) })
	apart := spans[:1]
	for _, s := range spans[1:] {
		if last := &apart[len(apart)-1]; s.low <= last.high {
			last.high = max(last.high, s.high)
		} else {
			apart = append(apart, s)
		}
	}
	s := newSet(func(r rune) bool {
		low, high := 0, len(apart) // index of the first span that does not end before r
		for low < high {
			if middle := (low + high) / 2; r > apart[middle].high {
				low = middle + 1
			} else {
				high = middle
			}
		}
		return low < len(apart) && r >= apart[low].low
	})
	s.spans = apart
	return s
}

func not(s *set) *set { return newSet(func(r rune) bool { return !s.has(r) }) }

func both(a, b *set) *set { return newSet(func(r rune) bool { return a.has(r) && b.has(r) }) }

func anyOf(sets []*set) *set {
	if len(sets) == 1 {
		return sets[0]
	}
	var spans []span
	var others []*set
	for _, s := range sets {
		spans = append(spans, s.spans...)
		if s.spans == nil {
			others = append(others, s)
		}
	}
	if spans != nil {
		others = append([]*set{within(spans)}, others...)
	}
	if len(others) == 1 {
		return others[0]
	}
	return newSet(func(r rune) bool {
		return slices.ContainsFunc(others, func(s *set) bool { return s.has(r) })
	})
}

func ofProps(p ucd.Props) *set {
	properties := ucd.Properties()
	return newSet(func(r rune) bool { return properties.Of(r)&p != 0 })
}

// begins returns the size of the first character of text if it is in the set, and otherwise 0.
func (s *set) begins(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	if b := text[0]; b < utf8.RuneSelf {
		return int(s.ascii[b/64] >> (b % 64) & 1)
	}
	if r, n := utf8.DecodeRune(text); s.has(r) {
		return n
	}
	return 0
}

var propNames = map[string]ucd.Props{
	"L": ucd.L, "N": ucd.N, "P": ucd.P, "S": ucd.S, "M": ucd.M,
	"Lu": ucd.Lu, "Ll": ucd.Ll, "Lt": ucd.Lt, "Lm": ucd.Lm, "Lo": ucd.Lo,
}

// escape reads a sequence that begins with a backslash.
func (p *parser) escape(inClass bool) (*set, error) {
	p.at++
	if p.at == len(p.in) {
		return nil, errors.New("a backslash at the end")
	}
	r, n := utf8.DecodeRuneInString(p.in[p.at:])
	p.at += n
	var s *set
	switch r {
	case 's', 'S':
		s = ofProps(ucd.White)
	case 'd', 'D':
		s = ofProps(ucd.Digit)
	case 'w', 'W':
		s = ofProps(ucd.Word)
		if inClass { // inside of classes Oniguruma does not count these as parts of words
			word := s
			s = newSet(func(r rune) bool { return word.has(r) && !strings.ContainsRune("²³¹¼½¾", r) })
		}
	case 'h', 'H':
		s = within([]span{{'0', '9'}, {'A', 'F'}, {'a', 'f'}})
	case 'p', 'P':
		return p.property(r == 'P', inClass)
	case 'u', 'x':
		return p.number(r)
	default:
		if i := strings.IndexRune("nrtfvae", r); i >= 0 {
			r = rune("\n\r\t\f\v\a\x1b"[i])
		} else if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf {
			return nil, fmt.Errorf(`\%c`, r)
		}
		return between(r, r), nil
	}
	if r < 'a' {
		s = not(s)
	}
	return s, nil
}

// number reads the digits after \x and \u.
func (p *parser) number(kind rune) (*set, error) {
	rest := p.in[p.at:]
	digits, size := "", 0
	switch {
	case kind == 'x' && strings.HasPrefix(rest, "{"):
		size = strings.IndexByte(rest, '}') + 1
		digits = rest[1:max(1, size-1)]
	case kind == 'x':
		size = min(2, len(rest))
		digits = rest[:size]
	default:
		size = min(4, len(rest))
		digits = rest[:size]
	}
	r, err := strconv.ParseUint(digits, 16, 21)
	// \xHH is a byte, which is a character only in ASCII.
	if err != nil || kind == 'x' && rest[0] != '{' && r >= utf8.RuneSelf || kind == 'u' && size < 4 || !utf8.ValidRune(rune(r)) {
		return nil, fmt.Errorf(`\%c without the number of a character`, kind)
	}
	p.at += size
	return between(rune(r), rune(r)), nil
}

// property reads the braces of \p{…}.
func (p *parser) property(negated, inClass bool) (*set, error) {
	end := strings.IndexByte(p.in[p.at:], '}')
	if end < 1 || p.in[p.at] != '{' {
		return nil, errors.New(`\p without a name`)
	}
	name := p.in[p.at+1 : p.at+end]
	p.at += end + 1
	if strings.HasPrefix(name, "^") {
		name, negated = name[1:], !negated
	}
	if inClass && strings.EqualFold(name, "word") { // see escape
		return nil, errors.New(`\p{word} in a class`)
	}
	s, err := named(name)
	if err == nil && negated {
		s = not(s)
	}
	return s, err
}

// named returns the set with a name of Oniguruma. The names of POSIX brackets begin with a colon.
func named(name string) (*set, error) {
	if props, ok := propNames[name]; ok {
		return ofProps(props), nil
	}
	runs, ok := ucd.Named(name)
	if !ok {
		return nil, fmt.Errorf(`\p{%s}`, name)
	}
	spans := make([]span, len(runs))
	for i, r := range runs {
		spans[i] = span{r.First, r.End - 1}
	}
	return within(spans), nil
}

// posix reads [:name:] or [:^name:].
func (p *parser) posix() (*set, error) {
	name, _, ok := strings.Cut(p.in[p.at+2:], ":]")
	if !ok {
		return nil, errors.New("[: without :]")
	}
	p.at += len("[::]") + len(name)
	plain, negated := strings.CutPrefix(name, "^")
	if !slices.Contains(posixNames, plain) {
		return nil, fmt.Errorf("[:%s:]", name)
	}
	s, err := named(":" + plain)
	if err == nil && negated {
		s = not(s)
	}
	return s, err
}

var posixNames = strings.Fields("alnum alpha blank cntrl digit graph lower print punct space upper xdigit word ascii")

// class reads a class in brackets, with the classes inside of it.
func (p *parser) class() (*set, error) { return p.classIn(true) }

// classIn reads a class. The outermost class adds the other cases of its letters as a whole.
func (p *parser) classIn(outermost bool) (*set, error) {
	p.at++
	if p.depth++; p.depth > maxDepth {
		return nil, errors.New("brackets are nested too deeply")
	}
	defer func() { p.depth-- }()
	negated := p.has("^")
	if negated {
		p.at++
	}
	var members []*set
	var left *set // the class before &&
	join := func() error {
		if len(members) == 0 {
			return errors.New("an empty class")
		}
		s := anyOf(members)
		if left != nil {
			s = both(left, s)
		}
		left, members = s, nil
		return nil
	}
	for p.at < len(p.in) {
		switch rest := p.in[p.at:]; {
		case rest[0] == ']':
			if err := join(); err != nil {
				return nil, err
			}
			p.at++
			if p.fold && outermost {
				var err error
				if left, err = closed(left, negated); err != nil {
					return nil, err
				}
			}
			if negated {
				left = not(left)
			}
			class := *left
			class.char = -1 // [a] cannot be the end of a range
			return &class, nil
		case strings.HasPrefix(rest, "&&"):
			if err := join(); err != nil {
				return nil, err
			}
			p.at += 2
		default:
			s, err := p.part()
			if err != nil {
				return nil, err
			}
			members = append(members, s)
		}
	}
	return nil, errors.New("a class that does not end")
}

// part reads a member of a class, or the two ends of a range.
func (p *parser) part() (*set, error) {
	class := p.has("[") && !p.has("[:")
	low, err := p.member()
	if err != nil {
		return nil, err
	}
	if class || !p.has("-") || p.has("-]") {
		return low, nil
	}
	if low.char < 0 || p.has("-&&") {
		return nil, errors.New("an ambiguous -, which may be a range or a character")
	}
	p.at++
	high, err := p.member()
	if err != nil {
		return nil, err
	}
	if high.char < low.char {
		return nil, errors.New("not a range")
	}
	return between(low.char, high.char), nil
}

// member reads one member of a class.
func (p *parser) member() (*set, error) {
	rest := p.in[p.at:]
	switch {
	case rest == "":
		return nil, errors.New("a class that does not end")
	case rest[0] == '\\':
		return p.escape(true)
	case strings.HasPrefix(rest, "[:"):
		return p.posix()
	case rest[0] == '[':
		return p.classIn(false)
	}
	r, n := utf8.DecodeRuneInString(rest)
	p.at += n
	return between(r, r), nil
}

// folded adds the other cases of a single letter if (?i) asks for them. Characters that match
// several letters stay as they are, and classes add cases as a whole.
func (p *parser) folded(s *set) (*set, error) {
	if !p.fold || s.char < 0 {
		return s, nil
	}
	same, several := ucd.Cases()
	if several[s.char] {
		return nil, fmt.Errorf("%c with (?i)", s.char)
	}
	spans := []span{{s.char, s.char}}
	for _, r := range same[s.char] {
		spans = append(spans, span{r, r})
	}
	return within(spans), nil
}

// closed adds the other cases of the letters of a class. A class that is not negated must not hold
// characters that match several letters.
func closed(s *set, negated bool) (*set, error) {
	same, several := ucd.Cases()
	added := []*set{s}
	for r, all := range same {
		if s.has(r) {
			for _, x := range all {
				if !s.has(x) {
					added = append(added, between(x, x))
				}
			}
		}
	}
	for r := range several {
		if !negated && s.has(r) {
			return nil, fmt.Errorf("a class with %c and (?i)", r)
		}
	}
	return anyOf(added), nil
}
