package tokenizer

// Conversion of offsets to whole characters, and to counts of characters.

import "unicode/utf8"

// wholeCharacters widens offsets to whole characters of text, and limits them to its length:
// offsets of tokens with more bytes than the text may lie anywhere.
func wholeCharacters(text string, offsets []Offset) {
	for i, o := range offsets {
		start, end := min(o.Start, len(text)), min(o.End, len(text))
		first, size := characterAt(text, start)
		offsets[i].Start = first
		if first < start && end <= start { // an empty part of a character
			end = first + size
		}
		if first, size := characterAt(text, end); first < end {
			end = first + size
		}
		offsets[i].End = max(end, offsets[i].Start)
	}
}

// characterAt returns the beginning and the size of the character that contains text[i]. A byte
// that is not UTF-8 counts as a character.
func characterAt(text string, i int) (start, size int) {
	for start = i; start > max(0, i-utf8.UTFMax); start-- {
		if start < len(text) && utf8.RuneStart(text[start]) {
			break
		}
	}
	if start < len(text) {
		if _, size = utf8.DecodeRuneInString(text[start:]); i < start+size {
			return start, size
		}
		_, size = utf8.DecodeRuneInString(text[i:])
	}
	return i, size
}

// countCharacters converts offsets from bytes of text to characters. Offsets beyond the text become
// the same as in Hugging Face's library.
func countCharacters(text string, offsets []Offset) {
	c := characterCounter{text: text}
	for i, o := range offsets {
		if o.Start >= len(text) {
			continue
		}
		start := c.count(o.Start)
		if o.End <= len(text) {
			offsets[i] = Offset{start, c.count(o.End)}
		} else {
			offsets[i] = Offset{start, start + 2}
		}
	}
}

// characterCounter counts the characters before positions in a text. It is fastest for ascending
// positions. Otherwise it starts from the nearest mark.
type characterCounter struct {
	text  string
	at    position
	marks []position // the last one at or before each multiple of markEvery bytes
}

// position is the beginning of a character, in bytes and in characters.
type position struct{ at, chars int }

const markEvery = 64

// count returns the number of characters that end at or before text[to].
func (c *characterCounter) count(to int) int {
	if i := min(to/markEvery, len(c.marks)-1); i >= 0 && (c.at.at > to || c.at.at < c.marks[i].at) {
		c.at = c.marks[i]
	}
	for c.at.at < to {
		size := 1
		if c.text[c.at.at] >= utf8.RuneSelf {
			_, size = utf8.DecodeRuneInString(c.text[c.at.at:])
		}
		if c.at.at+size > to {
			break
		}
		for len(c.marks)*markEvery < c.at.at+size {
			c.marks = append(c.marks, c.at)
		}
		c.at = position{c.at.at + size, c.at.chars + 1}
	}
	return c.at.chars
}

// Offset is the range [Start, End) of a text that a token came from.
type Offset struct{ Start, End int }
