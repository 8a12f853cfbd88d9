package tokenizer

// Encoding a text.

import (
	"fmt"

	"github.com/avoformer/avoformer/fault"
)

// Encode returns the tokens of a text.
func (t *Tokenizer) Encode(text string, opts Options) (*Encoding, error) {
	return t.encode(text, nil, &opts)
}

// EncodePair returns the tokens of two texts that belong together, such as a query and an answer.
func (t *Tokenizer) EncodePair(first, second string, opts Options) (*Encoding, error) {
	return t.encode(first, &second, &opts)
}

func (t *Tokenizer) encode(first string, second *string, opts *Options) (*Encoding, error) {
	e, err := t.unpadded(first, second, opts)
	if err != nil || t.padding == nil {
		return e, err
	}
	all := []*Encoding{e}
	err = t.padding.pad(all, opts)
	return all[0], err
}

// tokenText returns the string of the i-th token of w.
func (t *Tokenizer) tokenText(w *work, i int) string {
	x := w.tokens[i]
	if !x.surface {
		if s, ok := t.model.token(x.id); ok {
			return s
		}
	}
	return string(w.text[x.start:x.end])
}

func (t *Tokenizer) unpadded(first string, second *string, opts *Options) (*Encoding, error) {
	c, limit := t.truncation, 0
	if c != nil {
		limit = c.MaxLength
		if t.post != nil && !opts.NoSpecial {
			limit -= t.post.added(second != nil)
		}
	}
	e, f, err := t.both(first, second, limit, opts)
	if err != nil {
		return nil, err
	}
	if c != nil && limit < 0 {
		return nil, fmt.Errorf("%w: a limit of %d tokens leaves no place for the special tokens", fault.ErrTruncation, c.MaxLength)
	}
	if c != nil {
		if e, f, err = c.truncate(e, f, limit, opts.Overflow); err != nil {
			return nil, err
		}
	}
	parts := []*Encoding{e}
	if f != nil {
		parts = append(parts, f)
	}
	for i, p := range parts {
		p.setSequence(i)
		for _, o := range p.Overflowing {
			o.setSequence(i)
		}
	}
	if t.post != nil {
		if parts, err = t.post.process(parts, !opts.NoSpecial, opts); err != nil {
			return nil, err
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return join(parts), nil
}

// encoding makes an Encoding of the tokens of w, with typeID for all of them.
func (t *Tokenizer) encoding(w *work, typeID int, opts *Options) *Encoding {
	n := len(w.tokens)
	e := &Encoding{IDs: make([]int, n), TypeIDs: make([]int, n), Special: make([]bool, n), Attention: make([]bool, n)}
	for i, x := range w.tokens {
		e.IDs[i], e.TypeIDs[i], e.Attention[i] = int(x.id), typeID, true
	}
	if opts.Tokens {
		e.Tokens = make([]string, n)
		for i := range e.Tokens {
			e.Tokens[i] = t.tokenText(w, i)
		}
	}
	if opts.Offsets == NoOffsets {
		return e
	}
	e.Offsets, e.Words = make([]Offset, n), make([]int, n)
	for i, x := range w.tokens {
		o := w.offsets(w.splits[x.split], x.start, x.end)
		e.Offsets[i], e.Words[i] = Offset{int(o.start), int(o.end)}, int(x.split)
	}
	trims := t.post != nil && t.post.trims()
	if opts.Offsets == Bytes {
		wholeCharacters(w.original, e.Offsets)
	}
	if trims {
		e.trims = make([]trim, n)
		for i, o := range e.Offsets {
			e.trims[i] = trimOf(t.tokenText(w, i))
			if opts.Offsets == Bytes {
				e.trims[i].inBytes(w.original[o.Start:o.End])
			}
		}
	}
	if opts.Offsets == Characters {
		countCharacters(w.original, e.Offsets)
	}
	return e
}

// one encodes a text without special tokens.
func (t *Tokenizer) one(text string, typeID int, opts *Options) (*Encoding, error) {
	w := workPool.Get().(*work)
	defer w.release()
	if err := t.tokenize(w, text, opts); err != nil {
		return nil, err
	}
	return t.encoding(w, typeID, opts), nil
}
