package tokenizer

// Places where a text can be cut before it is tokenized: the tokens before the cut are tokens of
// the whole text.

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/onig"
	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// seam is a place between two characters that is followed through the parts of a tokenizer. Its
// statements hold for every text with these two characters at the place. Each part has a rule here
// that mirrors its code: the text after the seam must not affect the part's result before it.
type seam struct {
	before, after []rune // the characters that may now be at the two sides
	touched       bool   // the characters next to them may have changed
	cut           bool   // a piece ends here
	sealed        bool   // the text before does not affect the tokens after it, either
}

// maxSides bounds the length of seam.before and seam.after.
const maxSides = 8

// seamKind says how independent the two sides of a place are.
type seamKind int8

const (
	noSeam     seamKind = iota + 1 // the text after it may change the tokens before it
	openSeam                       // the text after it does not change the tokens before it
	sealedSeam                     // openSeam, and the text before does not change the tokens after it
)

// seams caches the kind of the place between two characters.
type seams struct {
	mu    sync.RWMutex
	kinds map[[2]rune]seamKind
}

// maxSeams bounds the cache.
const maxSeams = 1 << 12

// pairs reports whether f is true for all characters that may be at the two sides.
func (s *seam) pairs(f func(a, b rune) bool) bool {
	for _, a := range s.before {
		for _, b := range s.after {
			if !f(a, b) {
				return false
			}
		}
	}
	return true
}

// added reports whether no added token reaches over the seam or looks at the text after it. It
// checks tokens that are found in the text as it is, or if shown is not nil, in the normalized
// text.
func (s *seam) added(list []AddedToken, shown []string) bool {
	return s.pairs(func(a, b rune) bool {
		over := string([]rune{a, b})
		for i, t := range list {
			if t.Normalized != (shown != nil) {
				continue
			}
			content := t.Content
			if shown != nil {
				content = shown[i]
			}
			s.sealed = s.sealed && !strings.HasSuffix(content, string(a)) // the text after a token is a piece of its own
			if strings.Contains(content, over) || t.SingleWord && strings.HasSuffix(content, string(a)) || t.LStrip && isWhite(a) {
				return false
			}
		}
		return true
	})
}

// each replaces every character that may be at a side with the characters that f appends. It
// reports false if f removes a character.
func (s *seam) each(f func(dst []rune, r rune) []rune) bool {
	for i, a := range s.before {
		out := f(nil, a)
		if len(out) == 0 {
			return false
		}
		s.before[i] = out[len(out)-1]
	}
	for i, b := range s.after {
		out := f(nil, b)
		if len(out) == 0 {
			return false
		}
		s.after[i] = out[0]
	}
	return true
}

func isWhite(r rune) bool { return properties.Of(r)&ucd.White != 0 }

func (s *seam) normalize(n normalizer) bool {
	switch n := n.(type) {
	case nil:
		return true
	case normalizers:
		for _, x := range n {
			if !s.normalize(x) {
				return false
			}
		}
		return true
	case strip:
		return !slices.ContainsFunc(s.before, isWhite)
	case *replace:
		s.touched = s.touched || slices.ContainsFunc([]rune(n.content), func(r rune) bool { return r <= ' ' || r >= 0x7F })
		return s.replace(n)
	case *charsmap:
		ok := !s.touched && s.each(n.appendRune)
		s.touched = true
		return ok
	}
	s.touched = true
	switch n := n.(type) {
	case prepend:
		return true
	case lowerCase:
		return s.each(n.append)
	case dropped:
		return s.each(n.append)
	case nmt:
		return s.each(n.append)
	case *bertNormalizer:
		return (!n.clean && !n.chinese || s.each(n.first)) &&
			(!n.strip || s.normalize(form{ucd.FormD}) && s.normalize(dropped{ucd.Nonspacing, n.table})) &&
			(!n.lower || s.normalize(n.lowerCase))
	case form:
		return !slices.ContainsFunc(slices.Concat(s.before, s.after), func(r rune) bool { return properties.Of(r)&n.Flag != 0 })
	case byteChars:
		return s.each(spelledBytes)
	}
	return false
}

// spelledBytes appends the spelling of a character in GPT-2's byte alphabet.
func spelledBytes(dst []rune, r rune) []rune {
	for _, b := range []byte(string(r)) {
		dst = append(dst, byteAlphabet[b])
	}
	return dst
}

// appendRune appends the replacement of a character that is a grapheme.
func (n *charsmap) appendRune(dst []rune, r rune) []rune {
	if to, ok := n.lookup([]byte(string(r))); ok {
		return append(dst, []rune(string(to))...)
	}
	return append(dst, r)
}

// replace applies n to the seam, and reports whether it still is one. A character that n may find
// either stays or becomes n's content.
func (s *seam) replace(n *replace) bool {
	holds := func(r rune) bool { return true }
	whole := rune(-1) // the character that n always replaces
	if p, ok := n.pattern.(literal); ok {
		if !s.pairs(func(a, b rune) bool { return !strings.Contains(string(p), string([]rune{a, b})) }) {
			return false
		}
		holds = func(r rune) bool { return strings.ContainsRune(string(p), r) }
		if utf8.RuneCountInString(string(p)) == 1 {
			whole, _ = utf8.DecodeRuneInString(string(p))
		}
	} else {
		re := expressionOf(n.pattern)
		if re == nil || !s.pairs(func(a, b rune) bool { return !re.Crosses(a, b) }) {
			return false
		}
		holds = re.Holds
	}
	content := []rune(n.content)
	side := func(runes []rune, at func() rune) ([]rune, bool) {
		var out []rune
		for _, r := range runes {
			if r != whole {
				out = append(out, r)
			}
			if holds(r) {
				if len(content) == 0 {
					return nil, false
				}
				out = append(out, at())
			}
		}
		slices.Sort(out)
		out = slices.Compact(out)
		return out, len(out) <= maxSides
	}
	var ok bool
	if s.before, ok = side(s.before, func() rune { return content[len(content)-1] }); !ok {
		return false
	}
	s.after, ok = side(s.after, func() rune { return content[0] })
	return ok
}

// expressionOf returns the regular expression of a pattern, nil if it has none.
func expressionOf(p pattern) *onig.Regexp {
	switch p := p.(type) {
	case expression:
		return p.Regexp
	case scanner:
		return scannerExpressions()[p.source]
	}
	return nil
}

var scannerExpressions = sync.OnceValue(func() map[string]*onig.Regexp {
	all := map[string]*onig.Regexp{}
	for source := range scanners {
		all[source], _ = onig.Compile(source) // a test verifies that each compiles
	}
	return all
})

// apart reports whether the characters at text[start:middle] and text[middle:end] are plain, are
// whole graphemes, and have plain neighbours.
func apart(text string, start, middle, end int) bool {
	z, before := utf8.DecodeLastRuneInString(text[:start])
	c, after := utf8.DecodeRuneInString(text[end:])
	a, _ := utf8.DecodeRuneInString(text[start:])
	b, _ := utf8.DecodeRuneInString(text[middle:])
	if before == 0 || after == 0 || isWhite(a) || !plain(z) || !plain(a) || !plain(b) || !plain(c) {
		return false
	}
	return grapheme(text[start-before:middle]) == before && grapheme(text[start:end]) == middle-start && grapheme(text[middle:end+after]) == end-middle
}

func grapheme(s string) int { return ucd.Grapheme([]byte(s)) }

// plain reports whether r is a letter, a number, punctuation or white space, and no normal form
// changes r or joins it to another character.
func plain(r rune) bool {
	const forms = ucd.NFC | ucd.NFD | ucd.NFKC | ucd.NFKD
	p := properties.Of(r)
	return r != utf8.RuneError && (r > ' ' && r < 0x7F || p&(ucd.L|ucd.N|ucd.P|ucd.White) != 0) && p&(ucd.M|forms) == 0
}
