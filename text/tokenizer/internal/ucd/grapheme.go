package ucd

// Extended grapheme clusters, after UAX #29.

import (
	"sync"
	"unicode/utf8"
)

// Grapheme cluster break classes, in the order of tables.py.
const (
	gOther = iota
	gCR
	gLF
	gControl
	gExtend
	gZWJ
	gSpacingMark
	gPrepend
	gRegional
	gL
	gV
	gT
	gLV
	gLVT
	gPictograph
)

// Indic conjunct break classes.
const (
	inConsonant = iota + 1
	inExtend
	inLinker
)

var breaks = sync.OnceValue(func() *table[uint8] {
	return build('g', func(v rune) uint8 { return uint8(v) })
})

// Grapheme returns the length in bytes of the first extended grapheme cluster of s, which must be
// valid UTF-8 and not empty.
func Grapheme(s []byte) int {
	if len(s) == 1 || s[0] < utf8.RuneSelf && s[1] < utf8.RuneSelf && s[0] != '\r' {
		return 1
	}
	t := breaks()
	r, at := utf8.DecodeRune(s)
	before := t.at(r)
	var (
		odd       = before&15 == gRegional // an odd number of regional indicators
		picture   = next(0, before&15)
		consonant = before>>4 == inConsonant // a consonant, then extenders and linkers
		linked    = false
	)
	for at < len(s) {
		r, size := utf8.DecodeRune(s[at:])
		after := t.at(r)
		if !joined(before&15, after&15) &&
			!(after>>4 == inConsonant && consonant && linked) &&
			!(after&15 == gPictograph && picture == 2) &&
			!(after&15 == gRegional && odd) {
			return at
		}
		odd = after&15 == gRegional && !odd
		picture = next(picture, after&15)
		switch after >> 4 {
		case inConsonant:
			consonant, linked = true, false
		case inLinker:
			linked = linked || consonant
		case inExtend:
		default:
			consonant = false
		}
		before = after
		at += size
	}
	return at
}

// next returns the state of an emoji sequence after a character of class: 1 after a pictograph and
// its extenders, 2 after a joiner that follows these, otherwise 0.
func next(state int, class uint8) int {
	switch {
	case class == gPictograph:
		return 1
	case class == gExtend && state == 1:
		return 1
	case class == gZWJ && state == 1:
		return 2
	}
	return 0
}

// joined has the rules that need only the two classes.
func joined(before, after uint8) bool {
	switch before {
	case gCR:
		return after == gLF
	case gControl, gLF:
		return false
	}
	switch after {
	case gCR, gLF, gControl:
		return false
	case gExtend, gZWJ, gSpacingMark:
		return true
	}
	switch before {
	case gPrepend:
		return true
	case gL:
		return after == gL || after == gV || after == gLV || after == gLVT
	case gLV, gV:
		return after == gV || after == gT
	case gLVT, gT:
		return after == gT
	}
	return false
}
