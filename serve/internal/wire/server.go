// This file has the path of a request through the server, from the mux to the log.

package wire

import (
	"context"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// Server answers the requests for routes.
type Server struct {
	Engine   *engine.Engine
	Limits   Limits
	Timeout  time.Duration // of requests without X-Request-Timeout; 0: no limit
	Keys     *Keys         // nil: no key is needed
	CORS     *CORS         // nil: requests of pages are not checked
	Log      *slog.Logger  // of requests; nil: none
	Warnings *slog.Logger  // receives each warning of requests once; nil: none
	Observer engine.Observer

	mu     sync.Mutex
	warned map[string]bool // keys are models with warnings
}

// TimeoutHeader is the header with the number of seconds after which a request is cancelled.
const TimeoutHeader = "X-Request-Timeout"

// Handler returns the handler of a route.
func (s *Server) Handler(route *Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(route, w, r) })
}

func (s *Server) serve(route *Route, w http.ResponseWriter, r *http.Request) {
	rec := &engine.Record{ID: requestID(r), Method: r.Method, Route: route.Pattern, Protocol: route.Protocol, Began: time.Now()}
	ctx, cancel, err := s.context(r, rec)
	defer cancel()
	out := &writer{ResponseWriter: w, record: rec, leaving: s.Engine.Leaving}
	c := &Call{Record: rec, R: r.WithContext(ctx), w: out, limits: &s.Limits, body: s.Engine.Body(), control: http.NewResponseController(w)}
	// HTTP/2 ends the stream of an unread body, and a client that waits for "100 Continue" does not
	// send a body.
	c.unread = r.ContentLength != 0 && r.ProtoMajor == 1 && r.Header.Get("Expect") == ""
	defer c.body.Close()
	out.Header().Set("X-Request-Id", rec.ID)
	if err == nil {
		err = s.answer(route, c)
	}
	abort := false
	if err != nil {
		abort = s.fail(route, c, err)
	}
	rec.Status, rec.Bytes, rec.Total = out.status, out.bytes, time.Since(rec.Began)
	if s.Observer != nil {
		s.Observer.End(ctx, rec)
	}
	s.warn(ctx, rec)
	s.log(ctx, rec)
	if abort {
		panic(http.ErrAbortHandler) // so that the client does not take the part that it has for the whole answer
	}
	if err != nil {
		c.discard()
	}
}

// context returns the context of a request, with its record and its deadline.
func (s *Server) context(r *http.Request, rec *engine.Record) (context.Context, context.CancelFunc, error) {
	ctx := r.Context()
	if s.Observer != nil {
		ctx = s.Observer.Begin(r, rec)
	}
	ctx = engine.WithRecord(ctx, rec)
	timeout := s.Timeout
	if h := r.Header.Get(TimeoutHeader); h != "" {
		seconds, err := strconv.ParseFloat(h, 64)
		if err != nil || !(seconds > 0) || seconds > 1e6 {
			return ctx, func() {}, engine.Errorf(engine.Invalid, "%s: %.20q, want a number of seconds", TimeoutHeader, h)
		}
		if t := time.Duration(seconds * float64(time.Second)); timeout == 0 || t < timeout {
			timeout = t
		}
	}
	if timeout == 0 {
		return ctx, func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	return ctx, cancel, nil
}

// answer admits the request and calls the route's handler.
func (s *Server) answer(route *Route, c *Call) (err error) {
	defer func() {
		if v := recover(); v != nil && v != http.ErrAbortHandler {
			err = engine.Panicked(v)
		} else if v != nil {
			panic(v)
		}
	}()
	if err := s.CORS.check(c); err != nil {
		return err
	}
	if !route.Open {
		if err := s.Keys.check(c.R); err != nil {
			return err
		}
		leave, err := s.Engine.Enter()
		if err != nil {
			return err
		}
		defer leave()
	}
	return route.Handle(c)
}

// mostRemembered limits the number of warnings that are remembered, because clients choose parts of
// their texts.
const mostRemembered = 256

// warn logs the warnings of a request that have not been logged before.
func (s *Server) warn(ctx context.Context, r *engine.Record) {
	if s.Warnings == nil {
		return
	}
	for _, warning := range r.Warnings {
		s.mu.Lock()
		key := r.Model + "\x00" + warning
		fresh := !s.warned[key] && len(s.warned) < mostRemembered
		if fresh {
			if s.warned == nil {
				s.warned = map[string]bool{}
			}
			s.warned[key] = true
		}
		s.mu.Unlock()
		if fresh {
			s.Warnings.LogAttrs(ctx, slog.LevelWarn, warning, slog.String("model", r.Model), slog.String("route", r.Route), slog.String("id", r.ID))
		}
	}
}

// log logs a finished request.
func (s *Server) log(ctx context.Context, r *engine.Record) {
	if s.Log == nil {
		return
	}
	level, attrs := slog.LevelInfo, make([]slog.Attr, 0, 12)
	attrs = append(attrs, slog.String("id", r.ID), slog.String("method", r.Method), slog.String("route", r.Route), slog.Int("status", r.Status),
		slog.Float64("seconds", r.Total.Seconds()), slog.Int64("bytes", r.Bytes))
	if r.Model != "" {
		attrs = append(attrs, slog.String("model", r.Model), slog.Int("texts", r.Texts), slog.Int("tokens", r.Tokens), slog.Int("generated", r.Generated))
	}
	if len(r.Warnings) > 0 {
		level = slog.LevelWarn
		attrs = append(attrs, slog.Any("warnings", r.Warnings))
	}
	if r.Cut > 0 {
		attrs = append(attrs, slog.Int("cut", r.Cut))
	}
	if e := r.Failure; e != nil {
		attrs = append(attrs, slog.String("error", e.Message))
		if e.Err != nil {
			attrs = append(attrs, slog.String("cause", e.Err.Error()))
		}
		if e.Kind == engine.Internal {
			level = slog.LevelError
		}
	}
	s.Log.LogAttrs(ctx, level, "request", attrs...)
}

// requestID returns the client's id if it is short and printable ASCII, or else a new id.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	plain := id != "" && len(id) <= 128
	for i := 0; i < len(id) && plain; i++ {
		plain = id[i] > ' ' && id[i] < 0x7f
	}
	if plain {
		return id
	}
	var b [8]byte
	n := rand.Uint64()
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	return hex.EncodeToString(b[:])
}
