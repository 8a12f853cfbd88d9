// A request that is being answered.

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

// Call is a request that is being answered, by one goroutine.
type Call struct {
	Record  *engine.Record
	R       *http.Request
	w       *writer
	limits  *Limits
	body    *engine.Body
	control *http.ResponseController
}

// Limits bound what one request may take.
type Limits struct {
	Body         int64         // bytes
	ReadTimeout  time.Duration // for the body
	WriteTimeout time.Duration // for what is sent at a time
}

// Context ends with the client, the deadline of the request or the server. Everything that is done for the request
// uses it.
func (c *Call) Context() context.Context { return c.R.Context() }

// Header is that of the answer.
func (c *Call) Header() http.Header { return c.w.Header() }

// Path is the value of a wildcard of the pattern.
func (c *Call) Path(name string) string { return c.R.PathValue(name) }

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// keepBuffer is how large a buffer may be to be kept.
const keepBuffer = 1 << 20

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= keepBuffer {
		b.Reset()
		buffers.Put(b)
	}
}

// ReadJSON reads the body, an object, into a struct. Fields that the struct lacks are ignored.
func (c *Call) ReadJSON(into any) error {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	if err := c.read(b); err != nil {
		return err
	}
	return Decode(b.Bytes(), into)
}

// Decode reads a JSON object into a struct. Fields that the struct lacks are ignored. Errors have a kind.
func Decode(data []byte, into any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return engine.Errorf(engine.Invalid, "the request has no body")
	}
	if err := json.Unmarshal(data, into); err != nil {
		return jsonError(err)
	}
	return nil
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
		b.Grow(int(min(n, 1<<16)) + bytes.MinRead) // what is only claimed is not allocated
	}
	c.control.SetReadDeadline(time.Now().Add(c.limits.ReadTimeout))
	_, err := b.ReadFrom(counted{http.MaxBytesReader(c.w, c.R.Body, c.limits.Body), c.body})
	c.control.SetReadDeadline(time.Time{}) // net/http reads on, to see the client go
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return c.tooLarge()
	} else if full, ok := errors.AsType[*engine.Error](err); ok {
		c.Header().Set("Connection", "close") // the rest is not read
		return full
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		c.Header().Set("Connection", "close")
		return &engine.Error{Kind: engine.Invalid, Message: "the body did not come in time", Err: err}
	} else if err != nil {
		return &engine.Error{Kind: engine.Invalid, Message: "the body ends early", Err: err}
	}
	return nil
}

// counted counts what is read of a body among all bodies.
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

// jsonError says what is wrong with a body, and with which field.
func jsonError(err error) error {
	if e, ok := errors.AsType[*engine.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
		return engine.Errorf(engine.Invalid, "%s: a JSON %s is not what is wanted", e.Field, e.Value).At(e.Field)
	}
	return engine.Errorf(engine.Invalid, "the body is not the JSON that is wanted: %v", err)
}

// WriteJSON answers with a value as JSON.
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

// Write answers with bytes, which it does not keep.
func (c *Call) Write(status int, contentType string, data []byte) error {
	c.warn()
	h := c.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.control.SetWriteDeadline(time.Now().Add(c.limits.WriteTimeout))
	c.w.WriteHeader(status)
	if _, err := c.w.Write(data); err != nil {
		return gone(err)
	}
	if err := c.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return gone(err)
	}
	c.control.SetWriteDeadline(time.Time{}) // of this answer, not of the connection's next one
	return nil
}

// WarningHeader tells a client what of its request was not done as it asks.
const WarningHeader = "X-Warning"

// Of warnings in the header.
const (
	mostWarnings   = 8
	longestWarning = 400 // bytes
)

// warn puts the first of the record's warnings into the header.
func (c *Call) warn() {
	for _, s := range c.Record.Warnings[:min(len(c.Record.Warnings), mostWarnings)] {
		s = strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return '?'
			}
			return r
		}, s)
		c.Header().Add(WarningHeader, s[:min(len(s), longestWarning)])
	}
}

// gone is that the client does not take its answer.
func gone(err error) error {
	return &engine.Error{Kind: engine.Cancelled, Message: "the client does not take its answer", Err: err}
}

// writer notes what is sent.
type writer struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}
