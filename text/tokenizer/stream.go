package tokenizer

// Decoding token by token.

import "strings"

// Stream decodes ids as they are generated. The cost of an id does not grow with the number of ids
// before it. The strings that it returns are, joined, what [Tokenizer.Decode] returns for all ids.
// Each piece of text is returned as soon as no later id can change it: half a character waits for
// the other half, and successive tokens for single bytes, such as <0xE6>, wait for their end, since
// another byte can turn all of them into U+FFFD. After 64 bytes of such tokens the complete
// characters are returned; if a later byte breaks them, only the rest becomes U+FFFD.
//
// A Stream must not be used by more than one goroutine at a time.
type Stream struct {
	t           *Tokenizer
	skipSpecial bool
	stages      []stage
	from, to    []string // between stages
}

// Stream returns a Stream for one text. If skipSpecial is set, it leaves out special tokens.
func (t *Tokenizer) Stream(skipSpecial bool) *Stream {
	s := &Stream{t: t, skipSpecial: skipSpecial}
	s.stages, _ = stagesOf(t.decoder, false)
	return s
}

// Next takes the next id and returns the text that is now certain. It may be empty.
func (s *Stream) Next(id int) string {
	token, ok := s.t.Token(id)
	if !ok || s.skipSpecial && s.t.added.special[token] {
		return ""
	}
	from, to := append(s.from[:0], token), s.to[:0]
	for _, stage := range s.stages {
		to = to[:0]
		for _, token := range from {
			to = stage.next(to, token)
		}
		from, to = to, from
	}
	s.from, s.to = from, to
	if len(from) == 1 {
		return from[0]
	}
	return strings.Join(from, "")
}

// Flush ends the text and returns the text that has waited, with U+FFFD for bytes that did not
// become a character.
func (s *Stream) Flush() string {
	var from []string
	for _, stage := range s.stages {
		var to []string
		for _, token := range from {
			to = stage.next(to, token)
		}
		from = stage.end(to)
	}
	s.stages, _ = stagesOf(s.t.decoder, false)
	return strings.Join(from, "")
}
