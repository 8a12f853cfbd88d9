package grammar

import (
	"slices"
	"unicode/utf8"
)

// This file converts sets of characters to bytes of UTF-8.

// A runeRange is the range of characters lo to hi.
type runeRange struct{ lo, hi rune }

const (
	surrogateLo = 0xd800
	surrogateHi = 0xdfff
)

// normalised returns the same set in order, without overlaps and without surrogates, which UTF-8
// cannot encode.
func normalised(set []runeRange) []runeRange {
	var parts []runeRange
	for _, r := range set {
		r.lo, r.hi = max(r.lo, 0), min(r.hi, utf8.MaxRune)
		below, above := runeRange{r.lo, min(r.hi, surrogateLo-1)}, runeRange{max(r.lo, surrogateHi+1), r.hi}
		for _, part := range []runeRange{below, above} {
			if part.lo <= part.hi {
				parts = append(parts, part)
			}
		}
	}
	slices.SortFunc(parts, func(a, b runeRange) int { return int(a.lo - b.lo) })
	joined := parts[:0]
	for _, r := range parts {
		if n := len(joined); n > 0 && r.lo <= joined[n-1].hi+1 {
			joined[n-1].hi = max(joined[n-1].hi, r.hi)
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}

// negated returns all characters that are not in set.
func negated(set []runeRange) []runeRange {
	var others []runeRange
	next := rune(0)
	for _, r := range normalised(set) {
		others = append(others, runeRange{next, r.lo - 1})
		next = r.hi + 1
	}
	return normalised(append(others, runeRange{next, utf8.MaxRune}))
}

// class matches one character of set.
func class(set []runeRange) *expr {
	var alternatives []*expr
	for _, r := range normalised(set) {
		// Each part has characters of one encoded length.
		for _, last := range []rune{0x7f, 0x7ff, 0xffff, utf8.MaxRune} {
			if r.lo <= min(r.hi, last) {
				alternatives = append(alternatives, sameLength(r.lo, min(r.hi, last))...)
				r.lo = last + 1
			}
		}
	}
	return alt(alternatives...)
}

// sameLength returns the sequences of byte ranges for lo to hi, whose encodings have the same
// length.
func sameLength(lo, hi rune) []*expr {
	if lo > hi {
		return nil
	}
	// If the range has only some continuations of a prefix, it is split there.
	for bits := 6; bits <= 18; bits += 6 {
		mask := rune(1)<<bits - 1
		if lo&^mask == hi&^mask || lo < 0x80 {
			break
		}
		if lo&mask != 0 {
			return append(sameLength(lo, lo|mask), sameLength(lo|mask+1, hi)...)
		}
		if hi&mask != mask {
			return append(sameLength(lo, hi&^mask-1), sameLength(hi&^mask, hi)...)
		}
	}
	first, last := utf8.AppendRune(nil, lo), utf8.AppendRune(nil, hi)
	sequence := make([]*expr, len(first))
	for i := range first {
		sequence[i] = byteRange(first[i], last[i])
	}
	return []*expr{concat(sequence...)}
}
