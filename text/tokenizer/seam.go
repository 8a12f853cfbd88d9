package tokenizer

// Places where a text may be cut before it is tokenized: the tokens before the cut are those of the whole text.

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/onig"
	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// seam is a place between two characters, on its way through the parts of a tokenizer. What it says holds whatever else
// the text has. The rules of each part are those of its code: what a part does before the seam must not depend on what
// follows.
type seam struct {
	before, after []rune // what may stand at its two sides by now
	touched       bool   // their neighbours may differ from those in the text
	cut           bool   // the pieces of the text end here
	sealed        bool   // what follows does not depend on what is before, either
}

// maxSides bounds what may stand at a side.
const maxSides = 8

// seamKind is what a tokenizer does at a place.
type seamKind int8

const (
	noSeam     seamKind = iota + 1 // what follows may change tokens before it
	openSeam                       // tokens before it do not depend on what follows
	sealedSeam                     // nor those after it on what is before
)

// seams remembers what a tokenizer does between two characters.
type seams struct {
	mu    sync.RWMutex
	kinds map[[2]rune]seamKind
}

// maxSeams bounds what is remembered.
const maxSeams = 1 << 12

// pairs reports whether f holds for all that may stand at the two sides.
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

// added reports whether no added token reaches over the seam or looks at what follows; those of the text as it is, or if
// shown is not nil, of the normalized text.
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
			s.sealed = s.sealed && !strings.HasSuffix(content, string(a)) // what follows a token is a piece
			if strings.Contains(content, over) || t.SingleWord && strings.HasSuffix(content, string(a)) || t.LStrip && isWhite(a) {
				return false
			}
		}
		return true
	})
}

// each replaces what stands at both sides by what f makes of each character, of which something must be left.
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

// spelledBytes appends the characters of GPT-2's alphabet for a character.
func spelledBytes(dst []rune, r rune) []rune {
	for _, b := range []byte(string(r)) {
		dst = append(dst, byteAlphabet[b])
	}
	return dst
}

// appendRune appends what stands for a character that is a grapheme by itself.
func (n *charsmap) appendRune(dst []rune, r rune) []rune {
	if to, ok := n.lookup([]byte(string(r))); ok {
		return append(dst, []rune(string(to))...)
	}
	return append(dst, r)
}

// replace returns the seam after n. A character that n may find may stay or become n's content.
func (s *seam) replace(n *replace) bool {
	holds := func(r rune) bool { return true }
	whole := rune(-1) // n replaces this character wherever it stands
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

// expressionOf returns the expression of a pattern, nil if it has none.
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
		all[source], _ = onig.Compile(source) // a test compiles them
	}
	return all
})

// apart reports whether the characters at text[start:middle] and text[middle:end] are plain, are graphemes by
// themselves, and have plain neighbours.
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

// plain reports whether r is a letter, a number, punctuation or white space that no normal form changes or joins to
// others.
func plain(r rune) bool {
	const forms = ucd.NFC | ucd.NFD | ucd.NFKC | ucd.NFKD
	p := properties.Of(r)
	return r != utf8.RuneError && (r > ' ' && r < 0x7F || p&(ucd.L|ucd.N|ucd.P|ucd.White) != 0) && p&(ucd.M|forms) == 0
}
