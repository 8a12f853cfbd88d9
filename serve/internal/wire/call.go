// This file has a request in progress.

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// Call is a request in progress. Only one goroutine may use it.
type Call struct {
	Record  *engine.Record
	R       *http.Request
	w       *writer
	limits  *Limits
	body    *engine.Body
	control *http.ResponseController
	unread  bool // the client may still be writing its body
	broken  bool // reading the body failed
}

// Limits limit the time and the size of one request.
type Limits struct {
	Body         int64         // bytes
	WarnUnknown  bool          // unknown fields are warnings, not errors
	ReadTimeout  time.Duration // for the body
	WriteTimeout time.Duration // for each write
}

// Context returns a context that ends with the client, the deadline of the request or the server.
// All work for the request must use it.
func (c *Call) Context() context.Context { return c.R.Context() }

// Header returns the header of the answer.
func (c *Call) Header() http.Header { return c.w.Header() }

// Path returns the value of a wildcard in the route's pattern.
func (c *Call) Path(name string) string { return c.R.PathValue(name) }

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// keepBuffer is the largest capacity of a buffer that is kept for reuse.
const keepBuffer = 1 << 20

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= keepBuffer {
		b.Reset()
		buffers.Put(b)
	}
}

// ReadBody reads the body.
func (c *Call) ReadBody() ([]byte, error) {
	var b bytes.Buffer
	err := c.read(&b)
	return b.Bytes(), err
}

func (c *Call) read(b *bytes.Buffer) error {
	if e := c.R.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return engine.Errorf(engine.Invalid, "Content-Encoding %q is not supported", e)
	}
	if c.R.ContentLength > c.limits.Body {
		return c.tooLarge()
	}
	if n := c.R.ContentLength; n > 0 {
		b.Grow(int(min(n, 1<<16)) + bytes.MinRead) // does not allocate all that the header claims
	}
	c.control.SetReadDeadline(time.Now().Add(c.limits.ReadTimeout))
	c.unread = c.R.ProtoMajor == 1 // reading also tells a client that waits for "100 Continue" to continue
	_, err := b.ReadFrom(counted{http.MaxBytesReader(c.w, c.R.Body, c.limits.Body), c.body})
	c.control.SetReadDeadline(time.Time{}) // net/http continues to read, to detect that the client disconnects
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return c.tooLarge()
	} else if full, ok := errors.AsType[*engine.Error](err); ok {
		return full
	}
	c.unread, c.broken = false, err != nil
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &engine.Error{Kind: engine.Invalid, Message: "the body did not arrive in time", Err: err}
	} else if err != nil {
		return &engine.Error{Kind: engine.Invalid, Message: "the body ends early", Err: err}
	}
	return nil
}

// Grow counts n bytes of memory, such as decoded sound, with the bytes of all bodies until the
// request is answered.
func (c *Call) Grow(n int) error { return c.body.Grow(int64(n)) }

// counted counts the bytes that are read of a body with those of all bodies.
type counted struct {
	io.Reader
	body *engine.Body
}

func (r counted) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if full := r.body.Grow(int64(n)); full != nil {
		return n, full
	}
	return n, err
}

func (c *Call) tooLarge() error {
	return engine.Errorf(engine.TooLarge, "the body is larger than %d bytes", c.limits.Body)
}

// WriteJSON writes an answer, a value as JSON.
func (c *Call) WriteJSON(status int, v any) error {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	return c.Write(status, "application/json", b.Bytes())
}

// Write writes an answer. It does not retain data.
func (c *Call) Write(status int, contentType string, data []byte) error {
	h := c.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.body.Close() // before the client has its answer and sends the next body
	c.control.SetWriteDeadline(time.Now().Add(c.limits.WriteTimeout))
	c.w.WriteHeader(status)
	if _, err := c.w.Write(data); err != nil {
		return gone(err)
	}
	if err := c.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return gone(err)
	}
	c.control.SetWriteDeadline(time.Time{}) // the deadline is for this answer only
	return nil
}

// gone returns the error for a client that does not read its answer.
func gone(err error) error {
	return &engine.Error{Kind: engine.Cancelled, Message: "the client does not read its answer", Err: err}
}

// writer records the status and size of an answer.
type writer struct {
	http.ResponseWriter
	record  *engine.Record
	leaving func() bool // reports whether the server is shutting down
	status  int
	bytes   int64
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		if w.leaving() { // otherwise a client could send its next request while the connection is being closed
			w.Header().Set("Connection", "close")
		}
		w.setHeaders()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// These are headers of an answer. WarningHeader is a deviation from the request, one header for
// each warning. CutHeader is the number of texts that were cut. FingerprintHeader identifies the
// model, the format and the numerics.
const (
	WarningHeader     = "X-Warning"
	CutHeader         = "X-Texts-Cut"
	FingerprintHeader = "X-Fingerprint"
)

// These are limits of warnings in the header.
const (
	mostWarnings   = 8
	longestWarning = 400 // bytes
)

// setHeaders sets the headers that describe the request: the first of the record's warnings, the
// fingerprint, and the number of texts that were cut.
func (w *writer) setHeaders() {
	all := w.record.Warnings
	for _, s := range all[:min(len(all), mostWarnings)] {
		s = strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return '?'
			}
			return r
		}, s)
		w.Header().Add(WarningHeader, s[:min(len(s), longestWarning)])
	}
	if f := w.record.Fingerprint; f != "" {
		w.Header().Set(FingerprintHeader, f)
	}
	if n := w.record.Cut; n > 0 {
		w.Header().Set(CutHeader, strconv.Itoa(n))
	}
}
