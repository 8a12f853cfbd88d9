package tokenizer

// Decoding token by token.

import (
	"strings"
	"unicode/utf8"
)

// Stream decodes ids as they are generated. What it gives is the text that
// [Tokenizer.Decode] gives for all of them, in pieces: a token whose last bytes
// begin a character gives nothing until the rest has come. Text that was given is
// not taken back: among bytes that are no UTF-8, Decode may give U+FFFD for good
// ones too, which have gone out by then.
//
// A Stream is for one goroutine.
type Stream struct {
	t           *Tokenizer
	skipSpecial bool
	ids         []int  // the last tokens that are known to be decoded, then those that wait
	done        int    // how many of ids are decoded
	prefix      string // their text
}

// maxWaiting bounds the tokens that wait for the rest of a character; none has
// more bytes than utf8.UTFMax, so longer waits are for bytes that are no UTF-8.
const maxWaiting = 64

// Stream begins a text. Special tokens are left out if asked.
func (t *Tokenizer) Stream(skipSpecial bool) *Stream {
	return &Stream{t: t, skipSpecial: skipSpecial}
}

// Next takes the next id and gives the text that is complete with it, which may be
// empty.
func (s *Stream) Next(id int) string {
	token, ok := s.t.Token(id)
	if !ok || s.skipSpecial && s.t.added.special[token] {
		return ""
	}
	s.ids = append(s.ids, id)
	text := s.t.Decode(s.ids, s.skipSpecial)
	full := len(s.ids)-s.done >= maxWaiting
	if !full && (len(text) <= len(s.prefix) || strings.HasSuffix(text, string(utf8.RuneError))) {
		return ""
	}
	return s.take(text)
}

// Flush ends the text and gives what has waited: U+FFFD for bytes that never became
// a character.
func (s *Stream) Flush() string {
	out := s.take(s.t.Decode(s.ids, s.skipSpecial))
	*s = Stream{t: s.t, skipSpecial: s.skipSpecial}
	return out
}

// take gives what text has beyond the prefix. The tokens since then are kept, for
// how a token is spelled may depend on the one before it.
func (s *Stream) take(text string) string {
	n := 0
	for n < len(text) && n < len(s.prefix) && text[n] == s.prefix[n] {
		n++
	}
	s.ids = append(s.ids[:0], s.ids[s.done:]...)
	s.done = len(s.ids)
	s.prefix = s.t.Decode(s.ids, s.skipSpecial)
	return text[n:]
}
