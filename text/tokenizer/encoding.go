package tokenizer

// What a text becomes, and how callers ask for it.

import (
	"slices"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// Encoding is a text, or a pair of texts, as tokens. All slices that are not nil
// have the same length.
type Encoding struct {
	IDs       []int
	TypeIDs   []int    // which text a token belongs to, as the post-processor counts
	Special   []bool   // tokens of the post-processor, and padding
	Attention []bool   // all but padding
	Tokens    []string // if Options.Tokens
	Offsets   []Offset // if Options.Offsets; those of special tokens and padding are 0, 0
	Words     []int    // if Options.Offsets: which piece of its text, -1 for special tokens

	// Overflowing holds what truncation cut off, if Options.Overflow; else Cut is the number of those tokens, or if
	// CutMore, of some of them: most of a text that is far too long is not tokenized.
	Overflowing []*Encoding
	Cut         int
	CutMore     bool

	sequences []sequence
	trims     []trim // white space of each token, where a post-processor asks for it
}

// sequence is the part of an encoding that is one of its texts.
type sequence struct{ text, start, end int }

// trim counts the characters of white space at the ends of a token, in the unit of offsets.
type trim struct {
	left, right int32
	one         bool // left is a single character
}

// Sequence says which text the i-th token belongs to: 0, 1, or -1 for the special
// tokens and padding around them.
func (e *Encoding) Sequence(i int) int {
	for _, s := range e.sequences {
		if i >= s.start && i < s.end {
			return s.text
		}
	}
	return -1
}

// trimOf counts white space, spelled or not by the byte alphabet, at the ends of s.
func trimOf(s string) trim {
	const spelled = 'Ġ'
	var t trim
	for _, r := range s {
		if r != spelled && properties.Of(r)&ucd.White == 0 {
			break
		}
		t.left++
	}
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		if r != spelled && properties.Of(r)&ucd.White == 0 {
			break
		}
		t.right++
		s = s[:len(s)-n]
	}
	t.one = t.left == 1
	return t
}

// inBytes turns the numbers of characters into those of bytes, for a token that came
// from text.
func (t *trim) inBytes(text string) {
	left, right := text, text
	for range t.left {
		_, n := utf8.DecodeRuneInString(left)
		left = left[n:]
	}
	for range t.right {
		_, n := utf8.DecodeLastRuneInString(right)
		right = right[:len(right)-n]
	}
	t.left, t.right = int32(len(text)-len(left)), int32(len(text)-len(right))
}

// trimOffsets takes the white space off the offsets.
func (e *Encoding) trimOffsets(prefixSpace bool) {
	for i, x := range e.trims {
		o := &e.Offsets[i]
		left, right := int(x.left), int(x.right)
		if left > 0 {
			if (i == 0 || o.Start == 0) && prefixSpace && x.one {
				left = 0 // this one was added
			}
			o.Start = min(o.Start+left, o.End)
		}
		if right > 0 && o.End >= right {
			o.End = max(o.End-right, o.Start)
		}
	}
}

func part[T any](s []T, start, end int) []T {
	if s == nil {
		return nil
	}
	return s[start:end:end]
}

// slice returns the tokens start to end; it shares e's arrays.
func (e *Encoding) slice(start, end int) *Encoding {
	return &Encoding{
		IDs: part(e.IDs, start, end), TypeIDs: part(e.TypeIDs, start, end),
		Special: part(e.Special, start, end), Attention: part(e.Attention, start, end),
		Tokens: part(e.Tokens, start, end), Offsets: part(e.Offsets, start, end),
		Words: part(e.Words, start, end), trims: part(e.trims, start, end),
	}
}

// clone copies what truncated parts may share.
func (e *Encoding) clone() *Encoding {
	c := new(Encoding)
	c.append(e)
	return c
}

// append puts the tokens of f after those of e, without what overflows. A text that both
// hold is where f holds it, as in Hugging Face's library.
func (e *Encoding) append(f *Encoding) {
	n := len(e.IDs)
	for _, s := range f.sequences {
		e.sequences = slices.DeleteFunc(e.sequences, func(old sequence) bool { return old.text == s.text })
		e.sequences = append(e.sequences, sequence{s.text, s.start + n, s.end + n})
	}
	e.IDs = append(e.IDs, f.IDs...)
	e.TypeIDs = append(e.TypeIDs, f.TypeIDs...)
	e.Special = append(e.Special, f.Special...)
	e.Attention = append(e.Attention, f.Attention...)
	e.Tokens = append(e.Tokens, f.Tokens...)
	e.Offsets = append(e.Offsets, f.Offsets...)
	e.Words = append(e.Words, f.Words...)
	e.trims = append(e.trims, f.trims...)
	e.Cut += f.Cut
	e.CutMore = e.CutMore || f.CutMore
}

// join puts parts in a row. What overflows of one part is combined with every
// other part, and with what overflows of it.
func join(parts []*Encoding) *Encoding {
	out := &Encoding{IDs: []int{}, TypeIDs: []int{}, Special: []bool{}, Attention: []bool{}}
	for _, p := range parts {
		var over []*Encoding
		for _, o := range out.Overflowing {
			for _, x := range append([]*Encoding{p}, p.Overflowing...) {
				c := o.clone()
				c.append(x)
				over = append(over, c)
			}
		}
		for _, x := range p.Overflowing {
			c := out.clone()
			c.append(x)
			over = append(over, c)
		}
		out.append(p)
		out.Overflowing = over
	}
	return out
}

// setSequence marks all tokens as those of a text.
func (e *Encoding) setSequence(text int) {
	e.sequences = append(e.sequences[:0:0], sequence{text, 0, len(e.IDs)})
}

func (e *Encoding) setTypes(id int) {
	e.TypeIDs = make([]int, len(e.IDs))
	for i := range e.TypeIDs {
		e.TypeIDs[i] = id
	}
}

// Options tell what of an [Encoding] is wanted. The zero value asks for ids with
// special tokens.
type Options struct {
	NoSpecial bool    // leave out what the post-processor adds
	Tokens    bool    // fill Tokens
	Offsets   Offsets // fill Offsets and Words
	Overflow  bool    // fill Overflowing
}

// The units.
const (
	NoOffsets  Offsets = iota
	Bytes              // bytes of the text; a token that is a part of a character has all of it
	Characters         // Unicode code points, as in Python
)

// Offsets is the unit of offsets.
type Offsets int
