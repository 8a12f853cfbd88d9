// This file has the engine, which holds models and answers requests for them.

package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avoformer/avoformer/generation"
)

// Config describes an engine. Limits of 0 are the defaults.
type Config struct {
	Models         []Model
	Lazy           bool                      // open each model at its first request, not at the start
	Memory         int64                     // largest number of bytes of weights at a time; 0: no limit
	KeepAlive      time.Duration             // a model that was used within this time is not closed for another
	Requests       int                       // largest number at a time
	Texts          int                       // largest number at a time, of all requests
	Bodies         int64                     // largest number of bytes of bodies at a time; not 0
	Batch          int                       // largest number of texts of a request
	NewTokens      int                       // largest number of tokens to generate for a text; 0: no limit
	NoFingerprints bool                      // answers have no fingerprints
	Literal        bool                      // control tokens in contents of users and tools are plain text
	Batches        func(windows, tokens int) // called with the size of each batch of texts; may be nil
	Log            *slog.Logger              // nil: none
}

// Engine holds models and answers requests for them.
type Engine struct {
	config Config
	memory Memory
	log    *slog.Logger
	gate   gate

	mu      sync.Mutex
	models  []*model
	names   map[string]*model // includes aliases
	used    int64             // bytes of weights of models that are open or being opened
	changed chan struct{}     // closed and replaced when a model is closed or becomes unused

	leaving atomic.Bool // Leave was called

	looking chan struct{} // one element for each request that computes images

	warm    chan struct{} // closed when all models of the start are open, or one has failed
	cold    []string      // names of the models of the start that are not open yet; the first one is being opened
	failure error         // error of the first of these
}

// New returns an engine, and starts to open its models unless it is Lazy.
func New(c Config) (*Engine, error) {
	if len(c.Models) == 0 {
		return nil, fmt.Errorf("no models")
	}
	c.Requests, c.Texts, c.Batch = or(c.Requests, 512), or(c.Texts, 16384), or(c.Batch, 2048)
	e := &Engine{config: c, log: c.Log, names: map[string]*model{}, changed: make(chan struct{}), looking: make(chan struct{}, atOnce()), warm: make(chan struct{})}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.gate.requests, e.gate.texts, e.gate.bytes = c.Requests, c.Texts, c.Bodies
	var unnamed []*model
	for _, m := range c.Models {
		if err := e.add(m); err != nil {
			return nil, err
		}
		if m.Name == "" {
			unnamed = append(unnamed, e.models[len(e.models)-1])
		}
	}
	e.addAliases(unnamed)
	var err error
	if e.memory, err = shareMemory(e.models, c.Memory); err != nil {
		return nil, err
	}
	if !c.Lazy {
		for _, m := range e.models {
			e.cold = append(e.cold, m.Name)
		}
	}
	go e.warmUp()
	return e, nil
}

func or(n, without int) int {
	if n == 0 {
		return without
	}
	return n
}

// Config returns the configuration, with defaults in place of limits of 0.
func (e *Engine) Config() Config { return e.config }

// warmUp opens the models one after the other, and runs each once.
func (e *Engine) warmUp() {
	defer close(e.warm)
	if e.config.Lazy {
		return
	}
	for _, m := range e.models {
		if err := e.warmUpOne(m); err != nil {
			e.mu.Lock()
			e.failure = fmt.Errorf("%s: %w", m.Name, err)
			e.mu.Unlock()
			return
		}
		e.mu.Lock()
		e.cold = e.cold[1:]
		e.mu.Unlock()
	}
}

func (e *Engine) warmUpOne(m *model) error {
	p, release, err := e.open(context.Background(), m)
	if err != nil {
		return err
	}
	defer release()
	return p.Warm(context.Background())
}

// Unready returns nil if the engine is ready, and otherwise an error that names the model that is
// being opened or cannot be opened.
func (e *Engine) Unready() error {
	if e.Leaving() {
		return Errorf(Unavailable, "the server is shutting down")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.failure != nil:
		return &Error{Kind: Unavailable, Message: fmt.Sprintf("the model %q cannot be opened", e.cold[0]), Err: e.failure}
	case len(e.cold) > 0:
		return Errorf(Unavailable, "not ready: %d of %d models are open, %q is being opened", len(e.models)-len(e.cold), len(e.models), e.cold[0])
	}
	return nil
}

// Leave makes the engine report that it is not ready. It still answers requests.
func (e *Engine) Leave() { e.leaving.Store(true) }

// Leaving reports whether Leave was called, or the engine is closing.
func (e *Engine) Leaving() bool { return e.leaving.Load() || e.Closed() }

// Ready reports whether all models of the start are open, and the engine is not leaving.
func (e *Engine) Ready() bool { return e.Unready() == nil }

// Wait waits until all models of the start are open, or returns the error of one that cannot be
// opened.
func (e *Engine) Wait(ctx context.Context) error {
	select {
	case <-e.warm:
		return e.failure
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Closed reports whether the engine refuses requests because it is closing.
func (e *Engine) Closed() bool {
	e.gate.mu.Lock()
	defer e.gate.mu.Unlock()
	return e.gate.closed
}

// Drain refuses further requests, and waits for those in progress. It returns the number of
// requests in progress at first, and the number left when ctx ends.
func (e *Engine) Drain(ctx context.Context) (had, left int) {
	g := &e.gate
	g.mu.Lock()
	g.closed = true
	had = g.inRequests
	if g.emptied == nil && had > 0 {
		g.emptied = make(chan struct{})
	}
	emptied := g.emptied
	g.mu.Unlock()
	if emptied == nil {
		return had, 0
	}
	select {
	case <-emptied:
		return had, 0
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return had, g.inRequests
}

// Stats has counts of an engine.
type Stats struct {
	Requests, Texts          int    // in progress
	Bytes                    int64  // of bodies in progress
	Admitted, Ended, Refused uint64 // requests so far
	Rate                     float64
	Memory                   int64 // bytes of weights
	Deferred                 int   // texts that wait for their generation to start
	Kept                     int   // finished texts whose keys and values are kept
	Cache                    int64 // bytes of keys and values
	Models                   []ModelInfo
}

// Stats returns the counts of the engine.
func (e *Engine) Stats() Stats {
	g := &e.gate
	g.mu.Lock()
	s := Stats{Requests: g.inRequests, Texts: g.inTexts, Bytes: g.inBytes, Admitted: g.admitted, Ended: g.ended, Refused: g.refused, Rate: g.rate}
	g.mu.Unlock()
	texts := e.cached()
	s.Models, s.Deferred, s.Kept, s.Cache = e.Models(), texts.Waiting, texts.Prefixes, texts.PageBytes
	for _, m := range s.Models {
		if m.Open {
			s.Memory += m.Bytes
		}
	}
	return s
}

// Memory returns how the models share the memory of the process.
func (e *Engine) Memory() Memory { return e.memory }

// cached returns the sums of the counts of generated texts of all open models.
func (e *Engine) cached() (sum generation.Stats) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.models {
		if p, ok := m.pipeline.(interface{ Stats() generation.Stats }); ok {
			s := p.Stats()
			sum.Waiting, sum.Prefixes, sum.PageBytes = sum.Waiting+s.Waiting, sum.Prefixes+s.Prefixes, sum.PageBytes+s.PageBytes
		}
	}
	return sum
}
