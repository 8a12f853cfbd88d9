package tokenizer

// Texts of which truncation keeps little: they are cut at a seam, and the rest is not tokenized.

import "unicode/utf8"

// longText is the bytes from which on a text is first tokenized in part.
var longText = 1 << 15

// both encodes one text or two without special tokens. Of a text of which truncation keeps limit tokens or fewer it may
// give a part with more tokens than that, which CutMore reports.
func (t *Tokenizer) both(first string, second *string, limit int, opts *Options) (e, f *Encoding, err error) {
	c := t.truncation
	part := func(text string, typeID, more int) (*Encoding, error) {
		if c == nil || opts.Overflow || limit < 0 {
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
	// Of two texts that are both cut the longer one keeps one token more where the limit is odd.
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

// part encodes a text, or as much of its beginning, or of its end if left, as has more tokens than given.
func (t *Tokenizer) part(text string, typeID, tokens int, left bool, opts *Options) (*Encoding, error) {
	if left && opts.Offsets != NoOffsets { // pieces are counted from the beginning
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

// head encodes a part of about size bytes at the beginning of text, or gives nil if it cannot be told apart.
func (t *Tokenizer) head(text string, typeID, size int, opts *Options) (*Encoding, error) {
	end, ok := t.seam(text, size, openSeam)
	if !ok {
		return nil, nil
	}
	return t.one(text[:end], typeID, opts)
}

// tail is head for the end of text. Its tokens are those after a seam, before which some text is tokenized too: what is
// done at the beginning of a text is not done at a seam.
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

// seamKind is that between a and b in any text, if both are plain.
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

// seam returns the first place in text, at or after from, that is a seam of a kind; ok is false if none is near.
func (t *Tokenizer) seam(text string, from int, kind seamKind) (end int, ok bool) {
	const far, most = 1 << 16, 64 // bytes to look at, and pairs that are not a seam
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
