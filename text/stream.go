// Text of tokens that come one by one.

package text

import (
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer"
)

// stream turns tokens into text as soon as it is certain: not half a character,
// nor what may be the beginning of a stop string.
type stream struct {
	tokenizer *tokenizer.Tokenizer
	stop      []string
	tokens    []int
	sent      int // bytes of the text so far that went out
}

// add takes the next token, and gives the text that it completes. It reports
// whether a stop string came; the text ends before it.
func (s *stream) add(token int) (text string, stopped bool) {
	s.tokens = append(s.tokens, token)
	all := s.tokenizer.Decode(s.tokens, true)
	if at := s.stopAt(all); at >= 0 {
		return s.send(all[:at]), true
	}
	// A part of a character decodes as one or more U+FFFD.
	return s.send(strings.TrimRight(all, "\ufffd")[:s.certain(strings.TrimRight(all, "\ufffd"))]), false
}

// rest is what was held back when there are no more tokens.
func (s *stream) rest() string { return s.send(s.tokenizer.Decode(s.tokens, true)) }

func (s *stream) send(all string) string {
	if len(all) <= s.sent {
		return ""
	}
	out := all[s.sent:]
	s.sent = len(all)
	return out
}

// stopAt is where the first stop string begins, or -1. One cannot begin in what
// went out.
func (s *stream) stopAt(all string) int {
	first := -1
	for _, stop := range s.stop {
		if at := strings.Index(all[min(s.sent, len(all)):], stop); at >= 0 && (first < 0 || s.sent+at < first) {
			first = s.sent + at
		}
	}
	return first
}

// certain is the length of text without an end that may begin a stop string.
func (s *stream) certain(text string) int {
	n := len(text)
	for _, stop := range s.stop {
		for k := min(len(stop)-1, len(text)); k > 0; k-- {
			if strings.HasSuffix(text, stop[:k]) {
				n = min(n, len(text)-k)
				break
			}
		}
	}
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}
