// Refusals: answers with an error, and the rest of a body that was not read.

package wire

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// Of bodies that are discarded after a refusal.
const (
	// discarded is how many bytes net/http itself reads before an answer, so that the connection
	// can take another request.
	discarded = 256 << 10
	// lingerTime is short, because a server that is shut down waits for it.
	lingerTime = 10 * time.Second
)

// fail answers with an error. It reports whether the answer had begun; the caller must then break
// off the answer.
func (s *Server) fail(route *Route, c *Call, err error) (abort bool) {
	e := engine.AsError(err)
	c.Record.Failure = e
	c.body.Close() // before the client has its answer, and asks again
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
	// The length is in the header, so that a client has the whole answer while the rest of its body
	// is discarded.
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

// discard reads the rest of the body of a request that was refused, and keeps none of it. Many
// clients read an answer only once they have written their whole request; if the server closed the
// connection before that, they would see a broken pipe instead of the answer. discard reads at most
// twice the limit of a body, and for at most lingerTime.
func (c *Call) discard() {
	if !c.unread || !c.closes() {
		return
	}
	c.control.SetReadDeadline(time.Now().Add(c.linger()))
	_, _ = io.CopyN(io.Discard, c.R.Body, 2*c.limits.Body)
}

// closes reports whether the connection ends after a refusal, because too much of the body was not
// read.
func (c *Call) closes() bool {
	return c.broken || c.unread && (c.R.ContentLength < 0 || c.R.ContentLength > discarded)
}

func (c *Call) linger() time.Duration { return min(c.limits.ReadTimeout, lingerTime) }

// held is an answer that is not sent yet.
type held struct {
	bytes.Buffer
	header http.Header
	status int
}

func (h *held) Header() http.Header { return h.header }

func (h *held) WriteHeader(status int) { h.status = status }
