package tokenizer

// Truncation of long texts: if few tokens are kept, the text is cut at a seam and the rest is not
// tokenized.

import "unicode/utf8"

// longText is the size in bytes of the shortest text of which at first only a part is tokenized.
var longText = 1 << 15

// both encodes one text or two without special tokens. If truncation keeps at most limit tokens,
// the encoding may be only a part of a text, with more than limit tokens. CutMore then reports
// this.
func (t *Tokenizer) both(first string, second *string, limit int, opts *Options) (e, f *Encoding, err error) {
	c := t.truncation
	part := func(text string, typeID, more int) (*Encoding, error) {
		if c == nil || opts.Overflow || limit < 0 || opts.Literal != nil {
			return t.one(text, typeID, opts)
		}
		return t.part(text, typeID, more, c.Left, opts)
	}
	if e, err = part(first, 0, limit); err != nil || second == nil {
		return e, nil, err
	}
	if f, err = part(*second, 1, limit); err != nil {
		return nil, nil, err
	}
	// If both texts are cut and the limit is odd, the longer text keeps one more token.
	switch uneven := c != nil && c.Strategy == LongestFirst && limit%2 != 0; {
	case uneven && e.CutMore && f.CutMore:
		if e, err = t.one(first, 0, opts); err == nil {
			f, err = t.one(*second, 1, opts)
		}
	case uneven && e.CutMore && len(f.IDs) >= len(e.IDs):
		e, err = part(first, 0, len(f.IDs))
	case uneven && f.CutMore && len(e.IDs) >= len(f.IDs):
		f, err = part(*second, 1, len(e.IDs))
	}
	return e, f, err
}

// part encodes a text, or only as much of its beginning as has more than the given number of
// tokens. If left is set, it encodes the end of the text.
func (t *Tokenizer) part(text string, typeID, tokens int, left bool, opts *Options) (*Encoding, error) {
	if left && opts.Offsets != NoOffsets { // words are numbered from the beginning of the text
		return t.one(text, typeID, opts)
	}
	for size := max(longText, 8*tokens); size <= len(text)/2 && len(text) <= maxText; size *= 4 {
		encode := t.head
		if left {
			encode = t.tail
		}
		e, err := encode(text, typeID, size, opts)
		if err != nil {
			return nil, err
		}
		if e != nil && len(e.IDs) > tokens {
			e.CutMore = true
			return e, nil
		}
	}
	return t.one(text, typeID, opts)
}

// head encodes about size bytes at the beginning of text. It returns nil if it finds no seam.
func (t *Tokenizer) head(text string, typeID, size int, opts *Options) (*Encoding, error) {
	end, ok := t.seam(text, size, openSeam)
	if !ok {
		return nil, nil
	}
	return t.one(text[:end], typeID, opts)
}

// tail encodes about size bytes at the end of text, without the tokens before a second seam: a
// tokenizer treats the beginning of a text differently from a seam.
func (t *Tokenizer) tail(text string, typeID, size int, opts *Options) (*Encoding, error) {
	start, ok := t.seam(text, len(text)-size, openSeam)
	if !ok {
		return nil, nil
	}
	middle, ok := t.seam(text, start+1, sealedSeam)
	if !ok {
		return nil, nil
	}
	before, err := t.one(text[start:middle], typeID, opts)
	if err != nil {
		return nil, err
	}
	e, err := t.one(text[start:], typeID, opts)
	if err != nil {
		return nil, err
	}
	return e.slice(len(before.IDs), len(e.IDs)), nil
}

// seamKind returns what holds between a and b in every text, if both are plain.
func (t *Tokenizer) seamKind(a, b rune) seamKind {
	t.seams.mu.RLock()
	kind := t.seams.kinds[[2]rune{a, b}]
	t.seams.mu.RUnlock()
	if kind != 0 {
		return kind
	}
	kind = t.findSeam(a, b)
	t.seams.mu.Lock()
	defer t.seams.mu.Unlock()
	if t.seams.kinds == nil || len(t.seams.kinds) >= maxSeams {
		t.seams.kinds = map[[2]rune]seamKind{}
	}
	t.seams.kinds[[2]rune{a, b}] = kind
	return kind
}

// seam returns the first place in text, at or after from, that is a seam of the given kind. It
// returns false if there is none nearby.
func (t *Tokenizer) seam(text string, from int, kind seamKind) (end int, ok bool) {
	const far, most = 1 << 16, 64 // bytes to look at, and pairs to try
	end = from
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	tried := map[[2]rune]bool{}
	for end < min(len(text), from+far) && len(tried) < most {
		a, size := utf8.DecodeLastRuneInString(text[:end])
		b, next := utf8.DecodeRuneInString(text[end:])
		if pair := [2]rune{a, b}; !tried[pair] && apart(text, end-size, end, end+next) {
			if t.seamKind(a, b) >= kind {
				return end, true
			}
			tried[pair] = true
		}
		end += next
	}
	return 0, false
}

func (t *Tokenizer) findSeam(a, b rune) seamKind {
	s := &seam{before: []rune{a}, after: []rune{b}, sealed: true}
	if !s.added(t.added.list, nil) || !s.normalize(t.normalizer) || !s.added(t.added.list, t.added.shown) || !s.preTokenize(t.pre) || !s.model(t.model) {
		return noSeam
	}
	if s.sealed {
		return sealedSeam
	}
	return openSeam
}
