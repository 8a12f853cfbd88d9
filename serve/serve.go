// The server: models and options to a handler.

package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/metrics"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// Model is a model to serve.
type Model struct {
	Dir     string    // the folder, or a GGUF file
	Name    string    // by which requests ask for it; "": as NameOf finds, with AliasesOf
	Aliases []string  // further names
	Kind    text.Kind // what it is opened as; "": as text.KindOf finds
	// Options says how it is opened. The names of adapters, if they have any, are further names of
	// the model: a request that asks for one gets its text with the adapter. OnBatch is the
	// server's.
	Options text.Options
}

// NameOf returns the name under which a model is served if the caller does not give one: org/name
// of a model in the hub's cache, else the name of its folder, or of its GGUF file.
func NameOf(dir string) string { return engine.NameOf(dir) }

// AliasesOf returns further names of a model for which the caller does not give a name: the last
// part of the name of a model in the hub's cache, and the name of its GGUF file. The model has such
// a name unless another model has it.
func AliasesOf(dir string) []string { return engine.AliasesOf(dir) }

// Options says how a server works. The zero value is good for a start.
type Options struct {
	Lazy      bool          // models are opened when they are first asked for
	Memory    int64         // the most bytes of weights at a time: models close to make room; 0: no limit
	KeepAlive time.Duration // a model that was used so recently is not closed for another, whose requests wait

	MaxRequests int   // at a time, others are refused; 0: 512
	MaxTexts    int   // of all requests at a time; 0: 16384
	MaxBatch    int   // texts of one request; 0: 2048
	MaxBody     int64 // bytes of a request; 0: 32 MiB, or an eighth of the process's memory
	MaxBodies   int64 // bytes of all requests at a time, beyond which they are refused; 0: 256 MiB, or an eighth of the process's memory
	// MaxResponses is the most bytes of memory in which answers of /v1/responses are kept for
	// requests that continue from them; those that have been unused for the longest time go first.
	// 0: 64 MiB, or a sixteenth of the process's memory if that is less.
	MaxResponses int64
	MaxTokens    int // that a request may have generated for a text; 0: what the model's context has room for

	Timeout      time.Duration // of a request that asks for none, or more, by X-Request-Timeout; 0: none
	ReadTimeout  time.Duration // for a body to come; 0: 30 seconds
	WriteTimeout time.Duration // for a reader to take what is sent at a time; 0: 30 seconds

	Keys    []string // requests need one of them, except for /health; none: no key is needed
	Origins []string // of pages that may ask, such as "https://example.com", "*" for all; none: no other site's

	// WarnUnknown makes fields of requests that are not known warnings, in the log and in the
	// header X-Warning of the answer, where they are errors otherwise.
	WarnUnknown bool

	// NoFingerprints leaves fingerprints out of answers: without it, a model's files are read a
	// second time in the background once it is open (text.Embedder.Fingerprint).
	NoFingerprints bool

	// TokenIDs lets OpenAI's clients send token ids in place of texts; they must be the model's
	// own.
	TokenIDs bool

	// LiteralContent makes control tokens in the messages of users and tools plain text
	// (text.PromptOptions.Literal). Texts that are continued without a template are as they are
	// sent.
	LiteralContent bool

	Log       *slog.Logger // of the server; nil: none
	AccessLog *slog.Logger // a line for each request; nil: none
	Observer  Observer     // is told of each request; nil: nobody
}

// Server is the handler. It is ready once the models are open, and answers /health with 503 before.
type Server struct {
	engine  *engine.Engine
	mux     *http.ServeMux
	wire    *wire.Server
	metrics *metrics.Metrics
}

// New makes a server and begins to open the models, unless Lazy. Wait reports whether they could
// be.
func New(models []Model, o Options) (*Server, error) {
	for _, x := range []struct {
		name string
		n    int64
	}{
		{"Memory", o.Memory}, {"KeepAlive", int64(o.KeepAlive)}, {"MaxRequests", int64(o.MaxRequests)}, {"MaxTexts", int64(o.MaxTexts)}, {"MaxBatch", int64(o.MaxBatch)}, {"MaxTokens", int64(o.MaxTokens)},
		{"MaxBody", o.MaxBody}, {"MaxBodies", o.MaxBodies}, {"MaxResponses", o.MaxResponses}, {"Timeout", int64(o.Timeout)}, {"ReadTimeout", int64(o.ReadTimeout)}, {"WriteTimeout", int64(o.WriteTimeout)},
	} {
		if x.n < 0 {
			return nil, fmt.Errorf("serve: %s is %d, want at least 0", x.name, x.n)
		}
	}
	o.settle()
	w := &wire.Server{
		Limits:  wire.Limits{Body: o.MaxBody, ReadTimeout: or(o.ReadTimeout, 30*time.Second), WriteTimeout: or(o.WriteTimeout, 30*time.Second), WarnUnknown: o.WarnUnknown},
		Timeout: o.Timeout, Log: o.AccessLog, Warnings: o.Log,
	}
	var err error
	if len(o.Keys) > 0 {
		if w.Keys, err = wire.NewKeys(o.Keys); err != nil {
			return nil, fmt.Errorf("serve: %w", err)
		}
	}
	if w.CORS, err = wire.NewCORS(o.Origins); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	c := engine.Config{Lazy: o.Lazy, Memory: o.Memory, KeepAlive: o.KeepAlive, Requests: o.MaxRequests, Texts: o.MaxTexts, Bodies: o.MaxBodies, Batch: o.MaxBatch, NewTokens: o.MaxTokens, NoFingerprints: o.NoFingerprints, Literal: o.LiteralContent, Log: o.Log}
	for _, m := range models {
		c.Models = append(c.Models, engine.Model(m))
	}
	m := metrics.New()
	c.Batches = m.Batch
	if w.Engine, err = engine.New(c); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	m.Watch(w.Engine)
	s := &Server{engine: w.Engine, wire: w, mux: http.NewServeMux(), metrics: m}
	w.Observer = observers{s.metrics, o.Observer}
	for _, r := range s.routes(o) {
		s.mux.Handle(r.Method+" "+r.Pattern, w.Handler(&r))
	}
	return s, nil
}

// settle sets the limits of bytes that are not given. The process's memory is that of the machine,
// or the lower limit of its cgroups.
func (o *Options) settle() {
	within := func(n, memory int64) int64 {
		if memory > 0 {
			return min(n, memory)
		}
		return n
	}
	memory, _ := replica.Memory()
	o.MaxBodies = or(o.MaxBodies, within(256<<20, memory/8))
	o.MaxBody = or(o.MaxBody, within(32<<20, memory/8))
	o.MaxResponses = or(o.MaxResponses, within(64<<20, memory/16))
}

func or[T int64 | time.Duration](n, without T) T {
	if n == 0 {
		return without
	}
	return n
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.wire.CORS.Preflight(w, r) {
		return
	}
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.lost(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Ready reports whether the models are open and requests are taken.
func (s *Server) Ready() bool { return s.engine.Ready() }

// Wait waits until the models are open, and says which could not be opened.
func (s *Server) Wait(ctx context.Context) error { return s.engine.Wait(ctx) }

// Models returns the names of the models that are served.
func (s *Server) Models() []string {
	var names []string
	for _, m := range s.engine.Models() {
		names = append(names, m.Name)
	}
	return names
}

// Memory is how the models of a server share what the process may use, in bytes.
type Memory struct {
	Limit   int64 // of the machine, or the lower limit of the process's cgroups; 0: not known
	Limited bool  // by a cgroup
	Weights int64 // of all models, or of as many as may be open at a time
	Working int64 // about what computing takes: activations, and images and sound while they are decoded
	Cache   int64 // the most for keys and values of texts that are generated, and of finished ones that are kept; 0: no limit
	Sound   int64 // the most for the samples of one request's sound, 64,000 for a second; 0: no transcriber, or no limit
}

// Memory says how the models share the memory of the process. It does not change.
func (s *Server) Memory() Memory { return Memory(s.engine.Memory()) }

// Drained is what Shutdown found.
type Drained struct {
	Requests int // that ran when it began
	Left     int // that had not been answered when its context ended
}

// Shutdown refuses further requests with 503 and waits until those that run are answered, or ctx
// ends.
func (s *Server) Shutdown(ctx context.Context) (Drained, error) {
	had, left := s.engine.Drain(ctx)
	if left > 0 {
		return Drained{had, left}, context.Cause(ctx)
	}
	return Drained{had, 0}, nil
}
