// Package stream makes text of tokens that come one by one.
package stream

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer"
)

// Stops are the strings that end a text.
type Stops struct {
	Strings []string
	Keep    bool // the text has the one that came
}

// A Stream turns tokens into text as soon as the text is certain. It holds back half a character,
// and text that may be the beginning of a stop string.
type Stream struct {
	decoded *tokenizer.Stream
	skip    func(token int) bool // tokens that have no text; nil: decoded knows
	stop    Stops
	held    string // text that has not gone out
	stopped string
}

// New returns a stream whose text ends before or with the first of the stop strings. Of special
// tokens, the text has only the markers.
func New(t *tokenizer.Tokenizer, stop Stops, markers []string) *Stream {
	if len(markers) == 0 {
		return &Stream{decoded: t.Stream(true), stop: stop}
	}
	return &Stream{decoded: t.Stream(false), stop: stop, skip: func(id int) bool {
		if !t.IsSpecial(id) {
			return false
		}
		token, _ := t.Token(id)
		return !slices.Contains(markers, token)
	}}
}

// Add takes the next token, and gives the text that it completes. It reports whether a stop string
// came, at which the text ends.
func (s *Stream) Add(token int) (text string, stopped bool) {
	if s.skip != nil && s.skip(token) {
		return "", false
	}
	if text, stopped = s.next(s.decoded.Next(token)); stopped {
		return text, true
	}
	n := s.certain(text)
	s.held = text[n:]
	return text[:n], false
}

// Stopped returns the stop string that ended the text, or "" if no stop string did.
func (s *Stream) Stopped() string { return s.stopped }

// Rest returns the text that was held back when there are no more tokens, up to a stop string.
func (s *Stream) Rest() string {
	text, _ := s.next(s.decoded.Flush())
	return text
}

// next returns the text that has not gone out, with a piece, or what of it comes before a stop
// string.
func (s *Stream) next(piece string) (text string, stopped bool) {
	text = s.held + piece
	first := len(text)
	for _, stop := range s.stop.Strings {
		if at := strings.Index(text, stop); at >= 0 && at < first {
			first, stopped, s.stopped = at, true, stop
		}
	}
	if stopped && s.stop.Keep {
		first += len(s.stopped)
	}
	return text[:first], stopped
}

// certain returns the length of text without an end that may begin a stop string.
func (s *Stream) certain(text string) int {
	n := len(text)
	for _, stop := range s.stop.Strings {
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
