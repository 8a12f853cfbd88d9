// The way of a request through the server, from the mux to the log.

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
	Timeout  time.Duration // of requests that name none; 0: none
	Keys     *Keys         // nil: none are needed
	CORS     *CORS         // nil: pages of other sites may not ask
	Log      *slog.Logger  // of requests; nil: none
	Warnings *slog.Logger  // of what requests are warned of, once each; nil: none
	Observer engine.Observer

	mu     sync.Mutex
	warned map[string]bool // models with their warnings
}

// TimeoutHeader is the header in which a request says how many seconds it has.
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
	// HTTP/2 ends the stream of a body that nobody reads, and a client that waits for "100
	// Continue" does not send one.
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
		panic(http.ErrAbortHandler) // the client must not take what it has for the whole
	}
	if err != nil {
		c.discard()
	}
}

// context returns the request's, with its record and its deadline.
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

// answer lets the request in and has the route answer it.
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

// mostRemembered bounds how many warnings are remembered: clients choose parts of them.
const mostRemembered = 256

// warn logs what a request was warned of, unless another was before it.
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

// log writes what became of a request.
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

// requestID returns the id that the client gives, if it is short and plain, or a new one.
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
