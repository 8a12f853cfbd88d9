// The engine: models and the requests for them.

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

// Config is what an engine is made of. Zero limits are the defaults.
type Config struct {
	Models         []Model
	Lazy           bool                      // models are opened when they are first asked for, not at the start
	Memory         int64                     // the most bytes of weights at a time; 0: no limit
	KeepAlive      time.Duration             // a model that was used so recently is not closed for another
	Requests       int                       // the most at a time
	Texts          int                       // the most at a time, of all requests
	Bodies         int64                     // bytes of bodies, the most at a time; not 0
	Batch          int                       // the most texts of a request
	NewTokens      int                       // the most that a request may have generated for a text; 0: no limit
	NoFingerprints bool                      // answers have none
	Literal        bool                      // control tokens are text in what users and tools write
	Batches        func(windows, tokens int) // is called with the size of each batch of texts; may be nil
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
	names   map[string]*model // aliases too
	used    int64             // bytes of models that are open, or being opened
	changed chan struct{}     // closed, and another made, when a model is closed, or nobody uses one any more

	leaving atomic.Bool // Leave was called

	looking chan struct{} // has as many elements as requests look at images

	warm    chan struct{} // closed when all that is opened at the start was
	cold    []string      // names of the models that are still to be opened at the start, the one that is being opened first
	failure error         // of that
}

// New returns an engine for models, which it begins to open unless it is Lazy.
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

// Config is what the engine was made of, with the limits that hold.
func (e *Engine) Config() Config { return e.config }

// warmUp opens the models, one after the other, and asks each for something.
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

// Unready is why the engine is not ready, an error that names the models which are not open yet;
// nil if it is.
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

// Leave has the engine say that it is not ready, while it still answers requests.
func (e *Engine) Leave() { e.leaving.Store(true) }

// Leaving reports whether Leave was called, or the engine is closing.
func (e *Engine) Leaving() bool { return e.leaving.Load() || e.Closed() }

// Ready reports whether the models that are opened at the start are.
func (e *Engine) Ready() bool { return e.Unready() == nil }

// Wait waits until the models that are opened at the start are, and says what went wrong.
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

// Drain refuses requests from now on and waits for those that are inside. It returns how many are
// still there when ctx ends, and how many there were at first.
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

// Stats is what an engine does now, and has done.
type Stats struct {
	Requests, Texts          int    // inside
	Bytes                    int64  // of bodies inside
	Admitted, Ended, Refused uint64 // requests so far
	Rate                     float64
	Memory                   int64 // bytes of weights
	Deferred                 int   // texts to generate that wait for room among those that are generated
	Kept                     int   // texts that have ended, whose keys and values are kept
	Cache                    int64 // bytes of keys and values
	Models                   []ModelInfo
}

// Stats says what the engine does.
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

// Memory says how the models share what the process may use.
func (e *Engine) Memory() Memory { return e.memory }

// cached returns the counts of texts that are generated, of all open models together.
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
