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
	unread  bool // there is a body of which a client may still write a part
	broken  bool // the body did not come
}

// Limits bound the time and the size of one request.
type Limits struct {
	Body         int64         // bytes
	WarnUnknown  bool          // fields that a request does not know are warnings, not errors
	ReadTimeout  time.Duration // for the body
	WriteTimeout time.Duration // for what is sent at a time
}

// Context ends with the client, the deadline of the request or the server. Everything that is done
// for the request uses it.
func (c *Call) Context() context.Context { return c.R.Context() }

// Header is that of the answer.
func (c *Call) Header() http.Header { return c.w.Header() }

// Path returns the value of a wildcard of the pattern.
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
	c.unread = c.R.ProtoMajor == 1 // also of a client that waits to be told to go on: it is told now
	_, err := b.ReadFrom(counted{http.MaxBytesReader(c.w, c.R.Body, c.limits.Body), c.body})
	c.control.SetReadDeadline(time.Time{}) // net/http reads on, to see the client go
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return c.tooLarge()
	} else if full, ok := errors.AsType[*engine.Error](err); ok {
		return full
	}
	c.unread, c.broken = false, err != nil
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &engine.Error{Kind: engine.Invalid, Message: "the body did not come in time", Err: err}
	} else if err != nil {
		return &engine.Error{Kind: engine.Invalid, Message: "the body ends early", Err: err}
	}
	return nil
}

// Grow takes memory for n bytes that a body becomes, such as sound that is decoded, among those of
// all bodies, until the request is answered.
func (c *Call) Grow(n int) error { return c.body.Grow(int64(n)) }

// counted adds the bytes read of a body to those of all bodies.
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
	h := c.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.body.Close() // before the client has its answer, and sends as much again
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

// gone is that the client does not take its answer.
func gone(err error) error {
	return &engine.Error{Kind: engine.Cancelled, Message: "the client does not take its answer", Err: err}
}

// writer records what the handler sends.
type writer struct {
	http.ResponseWriter
	record  *engine.Record
	leaving func() bool // whether the server will take no more connections
	status  int
	bytes   int64
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		if w.leaving() { // a client that keeps the connection would send the next request while it is closed
			w.Header().Set("Connection", "close")
		}
		w.tell()
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

// Headers of an answer. WarningHeader says what of a request was not done as it asks, once for each
// warning, CutHeader how many texts were cut, and FingerprintHeader which model, format and
// numerics the answer comes from.
const (
	WarningHeader     = "X-Warning"
	CutHeader         = "X-Texts-Cut"
	FingerprintHeader = "X-Fingerprint"
)

// Of warnings in the header.
const (
	mostWarnings   = 8
	longestWarning = 400 // bytes
)

// tell sets the headers that describe the request: the first of the record's warnings, the
// fingerprint, and the number of texts that were cut.
func (w *writer) tell() {
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
