package tokenizer

// The result of encoding, and the options of calls.

import (
	"slices"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// Encoding is the tokens of a text, or of a pair of texts. All slices that are not nil have the
// same length.
type Encoding struct {
	IDs       []int
	TypeIDs   []int    // the text that a token belongs to, as the post-processor counts texts
	Special   []bool   // true for tokens of the post-processor and padding
	Attention []bool   // false for padding
	Tokens    []string // if Options.Tokens
	Offsets   []Offset // if Options.Offsets; 0, 0 for special tokens and padding
	Words     []int    // if Options.Offsets: the index of the piece of the text, -1 for special tokens

	// Overflowing holds the parts that truncation cut off, if Options.Overflow is set. Otherwise
	// Cut is the number of tokens that were cut off. With CutMore it is a lower bound, since most
	// of a text that is far too long is never tokenized.
	Overflowing []*Encoding
	Cut         int
	CutMore     bool

	sequences []sequence
	trims     []trim // white space of each token, if a post-processor needs it
}

// sequence is the range of tokens that belong to one of the texts.
type sequence struct{ text, start, end int }

// trim is the amount of white space at the ends of a token, in the unit of the offsets.
type trim struct {
	left, right int32
	one         bool // left is a single character
}

// Sequence returns the index of the text that the i-th token belongs to: 0, 1, or -1 for the
// special tokens and padding around the texts.
func (e *Encoding) Sequence(i int) int {
	for _, s := range e.sequences {
		if i >= s.start && i < s.end {
			return s.text
		}
	}
	return -1
}

// trimOf counts the white space at the ends of s, including white space in the byte alphabet.
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

// inBytes converts the counts of characters to bytes. text is the text of the token.
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

// trimOffsets shortens the offsets by the white space at their ends.
func (e *Encoding) trimOffsets(prefixSpace bool) {
	for i, x := range e.trims {
		o := &e.Offsets[i]
		left, right := int(x.left), int(x.right)
		if left > 0 {
			if (i == 0 || o.Start == 0) && prefixSpace && x.one {
				left = 0 // add_prefix_space added this one
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

// slice returns the tokens from start to end. The result shares e's arrays.
func (e *Encoding) slice(start, end int) *Encoding {
	return &Encoding{
		IDs: part(e.IDs, start, end), TypeIDs: part(e.TypeIDs, start, end),
		Special: part(e.Special, start, end), Attention: part(e.Attention, start, end),
		Tokens: part(e.Tokens, start, end), Offsets: part(e.Offsets, start, end),
		Words: part(e.Words, start, end), trims: part(e.trims, start, end),
	}
}

// clone copies e, whose arrays truncated parts may share.
func (e *Encoding) clone() *Encoding {
	c := new(Encoding)
	c.append(e)
	return c
}

// append adds the tokens of f after those of e, without overflowing parts. As in Hugging Face's
// library, a text in both keeps only its range in f.
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

// join concatenates parts. Each overflowing part of one of them is combined with every other part,
// and with every overflowing part of these.
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

// setSequence assigns all tokens to one text.
func (e *Encoding) setSequence(text int) {
	e.sequences = append(e.sequences[:0:0], sequence{text, 0, len(e.IDs)})
}

func (e *Encoding) setTypes(id int) {
	e.TypeIDs = make([]int, len(e.IDs))
	for i := range e.TypeIDs {
		e.TypeIDs[i] = id
	}
}

// Options select the contents of an [Encoding]. The zero value asks for ids, with special tokens.
type Options struct {
	NoSpecial bool    // leave out the tokens of the post-processor
	Tokens    bool    // fill Tokens
	Offsets   Offsets // fill Offsets and Words
	Overflow  bool    // fill Overflowing
	// Literal are contents of added tokens that are text where the text has a LiteralMark behind
	// the character with which they would begin. With Literal, even an empty one, marks are left
	// out of the text; offsets are those without them.
	Literal []string
}

// LiteralMark is a character that Unicode has set aside for marks within a program, which no text
// has.
const LiteralMark = '\ufdd0'

// The units of offsets.
const (
	NoOffsets  Offsets = iota
	Bytes              // bytes of the text; a token that is part of a character covers the whole character
	Characters         // Unicode code points, as in Python
)

// Offsets is the unit of offsets.
type Offsets int
