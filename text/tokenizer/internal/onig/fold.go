package onig

// Letters without case, and those that match a ligature as well then: ss and ß.

import (
	"fmt"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// folded adds to a single letter its other cases, where (?i) asks for them. What stands for
// more than one character stays as it is; classes are folded as a whole.
func (p *parser) folded(s *set) (*set, error) {
	if !p.fold || s.char < 0 {
		return s, nil
	}
	same, several := ucd.Cases()
	if several[s.char] {
		return nil, fmt.Errorf("%c without case", s.char)
	}
	spans := []span{{s.char, s.char}}
	for _, r := range same[s.char] {
		spans = append(spans, span{r, r})
	}
	return within(spans), nil
}

// closed adds to a class the other cases of its letters. A class that is not negated may
// hold none that is several letters.
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
			return nil, fmt.Errorf("a class with %c without case", r)
		}
	}
	return anyOf(added), nil
}

// letters is a set of those of the alphabet that ligatures have.
type letters uint8

const (
	letterF letters = 1 << iota
	letterI
	letterL
	letterS
	letterT
)

func letter(r rune) letters {
	if r == 'ſ' {
		return letterS
	}
	return map[rune]letters{'f': letterF, 'i': letterI, 'l': letterL, 's': letterS, 't': letterT}[r|0x20]
}

// joins reports whether a letter of next after one of l makes a ligature.
func (l letters) joins(next letters) bool {
	return l&letterF != 0 && next&(letterF|letterI|letterL) != 0 || l&letterS != 0 && next&(letterS|letterT) != 0
}

// ligature reports whether letters of a ligature may follow each other in a match of the
// node, and gives those that a match may begin and end with. Where they follow each other
// in different groups, Oniguruma takes some for a ligature and some not.
func (n *node) ligature() (found bool, first, last letters) {
	switch n.kind {
	case oneChar:
		return false, n.letter, n.letter
	case repetition:
		found, first, last = n.subs[0].ligature()
		return found || n.most != 1 && last.joins(first), first, last
	case choice:
		for _, s := range n.subs {
			inside, f, l := s.ligature()
			found, first, last = found || inside, first|f, last|l
		}
		return found, first, last
	}
	empty := true // so far
	for _, s := range n.subs {
		inside, f, l := s.ligature()
		found = found || inside || last.joins(f)
		least, _ := s.lengths()
		if empty {
			first |= f
			empty = least == 0
		}
		if least > 0 {
			last = 0
		}
		last |= l
	}
	return found, first, last
}
