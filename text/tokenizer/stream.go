package tokenizer

// Decoding token by token.

import "strings"

// Stream decodes ids as they are generated, at the same cost for each however many came before.
// The pieces that it gives are together what [Tokenizer.Decode] gives for all ids, and each comes as
// soon as no later id can change it: half a character waits for the other half, and
// a row of tokens for single bytes, such as <0xE6>, for its end, since another byte can make all of it
// U+FFFD. Of a row that is longer than 64 bytes the characters so far come out; if it breaks later, only
// the rest is U+FFFD.
//
// A Stream is for one goroutine.
type Stream struct {
	t           *Tokenizer
	skipSpecial bool
	stages      []stage
	from, to    []string // between stages
}

// Stream begins a text. Special tokens are left out if asked.
func (t *Tokenizer) Stream(skipSpecial bool) *Stream {
	s := &Stream{t: t, skipSpecial: skipSpecial}
	s.stages, _ = stagesOf(t.decoder, false)
	return s
}

// Next takes the next id and gives the text that is certain with it, which may be
// empty.
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

// Flush ends the text and gives what has waited: U+FFFD for bytes that never became
// a character.
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
