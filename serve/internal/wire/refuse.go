// This file refuses requests: it answers with an error, and discards the rest of a body.

package wire

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// These are limits for discarding bodies after a refusal.
const (
	// discarded is the number of bytes that net/http itself reads before an answer, so that the
	// connection can be used for another request.
	discarded = 256 << 10
	// lingerTime is short, because a server that is shut down waits for it.
	lingerTime = 10 * time.Second
)

// fail answers with an error. It reports whether the answer had already begun; the caller must then
// abort it.
func (s *Server) fail(route *Route, c *Call, err error) (abort bool) {
	e := engine.AsError(err)
	c.Record.Failure = e
	c.body.Close() // before the client has its answer and sends the next request
	if c.w.status != 0 {
		return true
	}
	h := c.Header()
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
	if e.Kind == engine.Unauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if c.closes() {
		h.Set("Connection", "close")
	}
	// The header has the length, so that a client recognizes the end of the answer while the rest
	// of its body is discarded.
	answer := held{header: h, status: http.StatusOK}
	route.Error(&answer, e)
	h.Set("Content-Length", strconv.Itoa(answer.Len()))
	now := time.Now()
	c.control.SetWriteDeadline(now.Add(s.Limits.WriteTimeout))
	if c.unread {
		c.control.SetReadDeadline(now.Add(c.linger()))
	}
	c.w.WriteHeader(answer.status)
	c.w.Write(answer.Bytes())
	c.control.Flush()
	c.control.SetWriteDeadline(time.Time{})
	return false
}

// discard reads and discards the rest of the body of a refused request. Many clients read an answer
// only after they have written their whole request; if the server closed the connection before
// that, they would see a broken pipe instead of the answer. discard reads at most twice the limit
// of a body, and for at most lingerTime.
func (c *Call) discard() {
	if !c.unread || !c.closes() {
		return
	}
	c.control.SetReadDeadline(time.Now().Add(c.linger()))
	_, _ = io.CopyN(io.Discard, c.R.Body, 2*c.limits.Body)
}

// closes reports whether the connection is closed after a refusal, because too much of the body is
// unread.
func (c *Call) closes() bool {
	return c.broken || c.unread && (c.R.ContentLength < 0 || c.R.ContentLength > discarded)
}

func (c *Call) linger() time.Duration { return min(c.limits.ReadTimeout, lingerTime) }

// held is an answer that has not been sent yet.
type held struct {
	bytes.Buffer
	header http.Header
	status int
}

func (h *held) Header() http.Header { return h.header }

func (h *held) WriteHeader(status int) { h.status = status }
