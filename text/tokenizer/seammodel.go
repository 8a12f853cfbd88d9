package tokenizer

// The effect of pre-tokenizers and models at a seam.

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

func (s *seam) preTokenize(p preTokenizer) bool {
	if s.cut {
		return true // the two sides are cut further independently
	}
	switch p := p.(type) {
	case nil:
		return true
	case preTokenizers:
		for _, x := range p {
			if !s.preTokenize(x) {
				return false
			}
		}
		return true
	case bertPreTokenizer:
		s.cutWhere(func(a, b ucd.Props) bool { return (a|b)&(ucd.White|ucd.Punct) != 0 })
		return true
	case whitespace:
		s.cutWhere(func(a, b ucd.Props) bool { return (a|b)&ucd.White != 0 || (a^b)&ucd.RustWord != 0 })
		return true
	case whitespaceSplit:
		s.cutWhere(func(a, b ucd.Props) bool { return (a|b)&ucd.White != 0 })
		return true
	case splitChars:
		s.cut = s.pairs(func(a, b rune) bool {
			return p.behavior.cuts(properties.Of(a)&p.props != 0, properties.Of(b)&p.props != 0)
		})
		return true
	case splitRune:
		s.cut = s.pairs(func(a, b rune) bool { return a == rune(p) || b == rune(p) })
		return true
	case *splitAt:
		return s.splitAt(p)
	case metaspace:
		return s.metaspace(p)
	case byteLevel:
		if p.pattern && !s.splitAt(&splitAt{pattern: gpt2Scanner, behavior: isolated}) {
			return false
		}
		return !p.spell || s.each(spelledBytes)
	}
	return false // fixedLength counts characters from the beginning
}

func (s *seam) cutWhere(f func(a, b ucd.Props) bool) {
	s.cut = s.pairs(func(a, b rune) bool { return f(properties.Of(a), properties.Of(b)) })
}

// cuts reports whether a piece ends between two characters. before and after say whether they are
// delimiters.
func (b behavior) cuts(before, after bool) bool {
	switch b {
	case contiguous:
		return before != after
	case mergedWithPrevious:
		return before
	case mergedWithNext:
		return after
	}
	return before || after
}

// splitAt applies p to the seam, and reports whether no match of p may reach over it.
func (s *seam) splitAt(p *splitAt) bool {
	var found func(r rune) (may, must bool)
	if l, ok := p.pattern.(literal); ok {
		if !s.pairs(func(a, b rune) bool { return !strings.Contains(string(l), string([]rune{a, b})) }) {
			return false
		}
		found = func(r rune) (may, must bool) {
			return strings.ContainsRune(string(l), r), string(l) == string(r)
		}
	} else {
		re := expressionOf(p.pattern)
		if re == nil || !s.pairs(func(a, b rune) bool { return !re.Crosses(a, b) }) {
			return false
		}
		found = func(r rune) (may, must bool) { return re.Holds(r), re.Finds(r) }
	}
	s.cut = s.pairs(func(a, b rune) bool {
		_, must := found(a)
		after, _ := found(b)
		switch {
		case p.behavior == removed || p.behavior == isolated || p.behavior == mergedWithPrevious && !p.invert:
			return must
		case p.behavior == contiguous:
			return must && !after
		}
		return false
	})
	return true
}

func (s *seam) metaspace(p metaspace) bool {
	spell := func(dst []rune, r rune) []rune {
		if r == ' ' {
			r = p.replacement
		}
		return append(dst, r)
	}
	if !s.each(spell) {
		return false
	}
	s.cut = p.split && s.pairs(func(_, b rune) bool { return b == p.replacement })
	return true
}

// model reports whether the text after the seam does not affect the model's tokens before it.
func (s *seam) model(m model) bool {
	if s.cut {
		return true
	}
	var v *vocabulary
	known := func(a rune) bool { _, ok := v.id(string(a)); return ok }
	switch m := m.(type) {
	case *bpe:
		if m.prefix != "" || m.suffix != "" || m.ignoreMerges {
			return false
		}
		v = m.vocabulary
		if m.byteLevel {
			s.each(spelledBytes)
		}
	case *unigram: // scores after the seam are sums with another beginning, and round differently
		v, s.sealed = m.vocabulary, false
		known = func(a rune) bool { return m.trie.find([]byte(string(a))) >= 0 }
	default:
		return false
	}
	for _, r := range slices.Concat(s.before, s.after) { // unknown characters may become bytes, part of a longer unknown token, or nothing
		if !known(r) {
			return false
		}
	}
	return s.pairs(func(a, b rune) bool { return !v.joins(a, b) })
}

// joins reports whether a token contains a followed by b.
func (v *vocabulary) joins(a, b rune) bool {
	over := string([]rune{a, b})
	for i := range v.ids.list {
		if e := &v.ids.list[i]; int(e.size) > utf8.RuneLen(a) && strings.Contains(v.ids.text(e), over) {
			return true
		}
	}
	return false
}
