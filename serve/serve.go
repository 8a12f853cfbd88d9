// This file creates a server from models and options.

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
	Name    string    // name in requests; "": that of NameOf, with the aliases of AliasesOf
	Aliases []string  // further names
	Kind    text.Kind // kind of pipeline to open; "": that of text.KindOf
	// Options are the options for opening the model. Names of adapters are further names of the
	// model: a request with such a name uses the adapter. The server sets OnBatch.
	Options text.Options
}

// NameOf returns the default name of a model: org/name of a model in the hub's cache, else the name
// of its folder or GGUF file.
func NameOf(dir string) string { return engine.NameOf(dir) }

// AliasesOf returns the aliases of a model whose Name is "": the last part of the name of a model
// in the hub's cache, and the name of its GGUF file. An alias is dropped if another model has that
// name.
func AliasesOf(dir string) []string { return engine.AliasesOf(dir) }

// Options are the options of a server. The zero value is usable.
type Options struct {
	Lazy      bool          // open each model at its first request
	Memory    int64         // largest number of bytes of weights at a time, beyond which unused models are closed; 0: no limit
	KeepAlive time.Duration // a model that was used within this time is not closed for another model; requests for that one wait

	MaxRequests int   // at a time; further requests are refused; 0: 512
	MaxTexts    int   // of all requests at a time; 0: 16384
	MaxBatch    int   // texts of one request; 0: 2048
	MaxBody     int64 // bytes of a request; 0: 32 MiB, or an eighth of the process's memory
	MaxBodies   int64 // bytes of all requests at a time, beyond which they are refused; 0: 256 MiB, or an eighth of the process's memory
	// MaxResponses is the largest number of bytes for answers of /v1/responses that are kept for
	// requests that continue them. The least recently used answers are removed first. 0: 64 MiB, or
	// a sixteenth of the process's memory if that is less.
	MaxResponses int64
	MaxTokens    int // largest number of tokens to generate for a text; 0: only the model's context limits it

	Timeout      time.Duration // of a request whose X-Request-Timeout is missing or longer; 0: no limit
	ReadTimeout  time.Duration // for receiving a body; 0: 30 seconds
	WriteTimeout time.Duration // for each write to a client; 0: 30 seconds

	Keys    []string // requests need one of them, except for /health; none: no key is needed
	Origins []string // origins of web pages that may send requests, such as "https://example.com", or "*" for all; empty: no other site's pages

	// WarnUnknown reports unknown fields of requests as warnings, in the log and in the header
	// X-Warning of the answer, instead of as errors.
	WarnUnknown bool

	// NoFingerprints omits fingerprints from answers. Otherwise the server reads a model's files a
	// second time in the background after opening the model (text.Embedder.Fingerprint).
	NoFingerprints bool

	// TokenIDs lets OpenAI's clients send token ids in place of texts. The ids must be those of the
	// model's tokenizer.
	TokenIDs bool

	// LiteralContent makes control tokens in the messages of users and tools plain text
	// (text.PromptOptions.Literal). It does not affect texts that are continued without a template.
	LiteralContent bool

	Log       *slog.Logger // of the server; nil: none
	AccessLog *slog.Logger // a line for each request; nil: none
	Observer  Observer     // is notified of each request; nil: none
}

// Server is the handler. It is ready when all models are open; before that it answers /health with
// 503.
type Server struct {
	engine  *engine.Engine
	mux     *http.ServeMux
	wire    *wire.Server
	metrics *metrics.Metrics
}

// New returns a server and starts to open the models, unless Lazy. Wait returns the errors of
// opening them.
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

// settle sets default limits of bytes. The process's memory is that of the machine, or the lower
// limit of its cgroups.
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

// Ready reports whether the models are open and the server accepts requests.
func (s *Server) Ready() bool { return s.engine.Ready() }

// Wait waits until the models are open. The error names those that could not be opened.
func (s *Server) Wait(ctx context.Context) error { return s.engine.Wait(ctx) }

// Models returns the names of the served models.
func (s *Server) Models() []string {
	var names []string
	for _, m := range s.engine.Models() {
		names = append(names, m.Name)
	}
	return names
}

// Memory says how the models of a server share the memory of the process, in bytes.
type Memory struct {
	Limit   int64 // of the machine, or the lower limit of the process's cgroups; 0: not known
	Limited bool  // by a cgroup
	Weights int64 // of all models, or of those that may be open at a time
	Working int64 // estimate for computing: activations, and images and sound while they are decoded
	Cache   int64 // limit for keys and values of texts in progress, and of finished texts that are kept; 0: no limit
	Sound   int64 // limit for the samples of one request's sound, 64,000 bytes per second; 0: no transcriber, or no limit
}

// Memory returns how the models share the memory of the process. The result does not change.
func (s *Server) Memory() Memory { return Memory(s.engine.Memory()) }

// Drained is the result of Shutdown and Serve.
type Drained struct {
	Requests int // in progress at the beginning
	Left     int // not answered when the context ended
}

// Shutdown refuses further requests with 503, and waits until the requests in progress are answered
// or ctx ends.
func (s *Server) Shutdown(ctx context.Context) (Drained, error) {
	had, left := s.engine.Drain(ctx)
	if left > 0 {
		return Drained{had, left}, context.Cause(ctx)
	}
	return Drained{had, 0}, nil
}
