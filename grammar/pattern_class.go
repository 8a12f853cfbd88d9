package grammar

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// This file reads the classes of patterns.

// class reads a class after its opening bracket.
func (p *patternParser) class() (*syntax.Regexp, error) {
	not := p.take("^")
	var set []runeRange
	for {
		switch {
		case p.at >= len(p.text):
			return nil, p.fail("a bracket is not closed")
		case p.take("]"):
			if set = normalised(set); not {
				set = negated(set)
			}
			return setOf(set), nil
		}
		one, single, err := p.classAtom()
		if err != nil {
			return nil, err
		}
		if rest := p.text[p.at:]; single && len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			p.at++
			last, single, err := p.classAtom()
			switch {
			case err != nil:
				return nil, err
			case !single: // the dash is a character
				one = slices.Concat(one, []runeRange{{'-', '-'}}, last)
			case last[0].lo < one[0].lo:
				return nil, p.fail("a range that ends before it begins")
			default:
				one = []runeRange{{one[0].lo, last[0].lo}}
			}
		}
		set = append(set, one...)
	}
}

// classAtom reads a character of a class, or an escape for several. single reports whether it is
// one character.
func (p *patternParser) classAtom() (set []runeRange, single bool, err error) {
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	if r != '\\' {
		return []runeRange{{r, r}}, true, nil
	}
	if p.take("b") {
		return []runeRange{{'\b', '\b'}}, true, nil
	}
	re, err := p.escape()
	if err != nil {
		return nil, false, err
	}
	if re.Op != syntax.OpCharClass {
		return nil, false, p.fail("an assertion in a class")
	}
	set = classSet(re)
	return set, len(set) == 1 && set[0].lo == set[0].hi, nil
}

var (
	digits10 = []runeRange{{'0', '9'}}
	word     = []runeRange{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	blank    = []runeRange{{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
		{0x3000, 0x3000}, {0xfeff, 0xfeff}}
	plainEscapes = map[byte]rune{'t': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r', '0': 0}
)
