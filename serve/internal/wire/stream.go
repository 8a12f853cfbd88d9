// This file sends answers in pieces.

package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// Stream is an answer in pieces. Each piece is flushed. If a client reads nothing for
// Limits.WriteTimeout, the connection is closed.
type Stream struct {
	c              *Call
	before, behind string
	buffer         bytes.Buffer
}

// Events begins an answer of server-sent events.
func (c *Call) Events() *Stream {
	h := c.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // so that nginx does not buffer the events
	c.w.WriteHeader(http.StatusOK)
	return &Stream{c: c, before: "data: ", behind: "\n\n"}
}

// Lines begins an answer of JSON lines.
func (c *Call) Lines() *Stream {
	c.Header().Set("Content-Type", "application/x-ndjson")
	c.w.WriteHeader(http.StatusOK)
	return &Stream{c: c, behind: "\n"}
}

// Send sends a value as JSON.
func (s *Stream) Send(v any) error {
	s.buffer.Reset()
	s.buffer.WriteString(s.before)
	e := json.NewEncoder(&s.buffer)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	s.buffer.Truncate(s.buffer.Len() - 1) // the line break that Encode adds
	return s.flush()
}

// Event sends a value as an event with a name.
func (s *Stream) Event(name string, v any) error {
	before := s.before
	s.before = "event: " + name + "\n" + before
	err := s.Send(v)
	s.before = before
	return err
}

// Text sends a text without line breaks unchanged, such as "[DONE]".
func (s *Stream) Text(text string) error {
	s.buffer.Reset()
	s.buffer.WriteString(s.before)
	s.buffer.WriteString(text)
	return s.flush()
}

// flush writes the buffer as one line. Clients in Python that read lines of text, such as ollama's
// and huggingface_hub's, also end a line at U+0085, U+2028 and U+2029. encoding/json escapes the
// last two.
func (s *Stream) flush() error {
	s.buffer.WriteString(s.behind)
	piece := s.buffer.Bytes()
	if nel := []byte("\u0085"); bytes.Contains(piece, nel) {
		piece = bytes.ReplaceAll(piece, nel, []byte(`\u0085`))
	}
	c := s.c
	c.control.SetWriteDeadline(time.Now().Add(c.limits.WriteTimeout))
	if _, err := c.w.Write(piece); err != nil {
		return gone(err)
	}
	if err := c.control.Flush(); err != nil {
		return gone(err)
	}
	return nil
}
