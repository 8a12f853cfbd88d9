// This file has the models by name. It opens them when they are needed, closes them when another
// model needs the memory, and divides the memory of the process among them.

package engine

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
)

// Model is a model to serve. serve.Model documents the fields, which are the same.
type Model struct {
	Dir     string
	Name    string
	Aliases []string
	Kind    text.Kind
	Options text.Options
}

// ModelInfo describes a model without running it.
type ModelInfo struct {
	Name    string
	Aliases []string
	Dir     string
	Kind    text.Kind
	Weights kernels.Format
	Bytes   int64 // of its weights in memory
	Open    bool
	Users   int       // calls in progress
	Used    time.Time // time of the last use
	Added   time.Time
	// MaxTokens is the largest number of tokens of a text, 0 for no limit. It is known after the
	// model has been open.
	MaxTokens   int
	Adapters    []string // names of the model with an adapter
	Fingerprint string   // of an open model; "" until it is known
	// Replicas describes the replicas of an open model.
	Replicas []text.ReplicaInfo
}

// model is a Model with its state, which the engine's lock guards.
type model struct {
	Model
	footprint models.Footprint
	bytes     int64 // of its weights
	added     time.Time
	pipeline  text.Pipeline // nil: not open
	opening   chan struct{} // closed when opening has ended; nil: not being opened
	users     int
	used      time.Time
	limit     int // of tokens
	// fingerprint is the fingerprint of the open pipeline, "" until it is known.
	fingerprint string
}

// NameOf returns the default name of a model: org/name of a model in the hub's cache, else the name
// of its folder or GGUF file.
func NameOf(dir string) string {
	dir = absolute(dir)
	if name := hub.NameOf(dir); name != "" {
		return name
	}
	return fileName(dir)
}

// AliasesOf returns the aliases of a model whose Name is "": the last part of the name of a model
// in the hub's cache, and the name of its GGUF file. An alias is dropped if another model has that
// name.
func AliasesOf(dir string) (names []string) {
	dir = absolute(dir)
	name := hub.NameOf(dir)
	if name == "" {
		return nil
	}
	if last := path.Base(name); last != name {
		names = append(names, last)
	}
	if file := fileName(dir); strings.HasSuffix(dir, ".gguf") && !slices.Contains(names, file) {
		names = append(names, file)
	}
	return names
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs // so that ".", for example, has a name
	}
	return dir
}

func fileName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".gguf") }

// addAliases adds the aliases of AliasesOf to models without a given name, except aliases that
// several models would have.
func (e *Engine) addAliases(unnamed []*model) {
	wanted := map[string]int{}
	for _, m := range unnamed {
		for _, name := range AliasesOf(m.Dir) {
			wanted[name]++
		}
	}
	for _, m := range unnamed {
		for _, name := range AliasesOf(m.Dir) {
			if wanted[name] == 1 && e.names[name] == nil {
				e.names[name] = m
				m.Aliases = append(slices.Clone(m.Aliases), name)
			}
		}
	}
}

// add registers a model by its names.
func (e *Engine) add(spec Model) error {
	m := &model{Model: spec, added: time.Now()}
	if m.Name == "" {
		m.Name = NameOf(m.Dir)
	}
	for _, name := range slices.Concat([]string{m.Name}, m.Aliases, m.adapters()) {
		if other := e.names[name]; other != nil || name == "" {
			return fmt.Errorf("model name %q is given twice, or empty", name)
		}
		e.names[name] = m
	}
	var err error
	if m.Kind == "" {
		if m.Kind, err = text.KindOf(m.Dir); err != nil {
			return err
		}
		if RouteOf(m.Kind) == "" {
			m.Kind = text.KindEmbedder // its encoder can embed texts
		}
	} else if RouteOf(m.Kind) == "" {
		return fmt.Errorf("%s: kind %q, want one of %q", m.Name, m.Kind, served())
	}
	footprint, err := text.FootprintOf(m.Kind, m.Dir, m.Options)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	m.footprint, m.bytes = footprint, footprint.Weights
	if e.config.Memory > 0 && m.bytes > e.config.Memory {
		return fmt.Errorf("%s: its weights take %d bytes, which is more than the %d for all models", m.Name, m.bytes, e.config.Memory)
	}
	if len(m.adapters()) > 0 && m.Kind != text.KindGenerator {
		return fmt.Errorf("%s: adapters with names: the kind is %s, want %s", m.Name, m.Kind, text.KindGenerator)
	}
	e.models = append(e.models, m)
	return nil
}

// Models returns the served models in the order of Config.Models.
func (e *Engine) Models() []ModelInfo {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]ModelInfo, len(e.models))
	for i, m := range e.models {
		out[i] = m.info()
	}
	return out
}

// Find returns the model with a name or an alias.
func (e *Engine) Find(name string) (ModelInfo, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m, ok := e.names[name]
	if !ok {
		return ModelInfo{}, false
	}
	return m.info(), true
}

// Default returns the first model of one of the kinds, for protocols whose requests do not name a
// model.
func (e *Engine) Default(kinds ...text.Kind) (name string, ok bool) {
	for _, m := range e.models {
		if slices.Contains(kinds, m.Kind) {
			return m.Name, true
		}
	}
	return "", false
}

// Sole returns the name in a request. If that is "", it returns "" for the only model of a kind, or
// an error if there are several.
func (e *Engine) Sole(name string, kind text.Kind) (string, error) {
	if name != "" {
		return name, nil
	}
	n := 0
	for _, m := range e.models {
		if m.Kind == kind {
			n++
		}
	}
	if n > 1 {
		return "", Errorf(Invalid, "model is missing: several are served").At("model")
	}
	return "", nil
}

func (m *model) info() ModelInfo {
	return ModelInfo{m.Name, m.Aliases, m.Dir, m.Kind, m.Options.Model.WeightFormat, m.bytes, m.pipeline != nil, m.users, m.used, m.added, m.limit, m.adapters(), m.fingerprint, m.replicas()}
}

func (m *model) replicas() []text.ReplicaInfo {
	if m.pipeline == nil {
		return nil
	}
	return m.pipeline.Replicas()
}

// use returns the open pipeline of a model, which stays open until release is called. If name is
// "", it is the first model of the kind.
func use[P text.Pipeline](ctx context.Context, e *Engine, name string, kind text.Kind) (p P, release func(), err error) {
	if name == "" {
		if name, _ = e.Default(kind); name == "" {
			return p, nil, Errorf(WrongModel, "no %s is served here", kind)
		}
	}
	m, ok := e.names[name]
	if !ok {
		return p, nil, Errorf(UnknownModel, "no model %q is served here", name).At("model")
	}
	if m.Kind != kind {
		return p, nil, Errorf(WrongModel, "%q: the kind is %s, want %s", m.Name, m.Kind, kind).At("model")
	}
	r := RecordOf(ctx)
	r.Model, r.Kind = m.Name, m.Kind
	began := time.Now()
	pipeline, release, err := e.open(ctx, m)
	r.Load = time.Since(began)
	if err != nil {
		return p, nil, err
	}
	r.Fingerprint = e.fingerprint(m)
	return pipeline.(P), release, nil
}

// open returns a model's pipeline, and opens it if needed.
func (e *Engine) open(ctx context.Context, m *model) (pipeline text.Pipeline, release func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		switch {
		case m.pipeline != nil:
			m.users++
			return m.pipeline, func() { e.release(m) }, nil
		case m.opening != nil:
			err = e.wait(ctx, m.opening, 0)
		default:
			var again time.Duration
			if again, err = e.makeRoom(m), nil; again > 0 {
				err = e.wait(ctx, e.changed, again)
			} else {
				err = e.load(ctx, m)
			}
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// wait releases the lock until done is closed, the time most is over or ctx ends.
func (e *Engine) wait(ctx context.Context, done <-chan struct{}, most time.Duration) error {
	e.mu.Unlock()
	defer e.mu.Lock()
	var over <-chan time.Time
	if most > 0 {
		t := time.NewTimer(most)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-done:
	case <-over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// makeRoom closes the least recently used models until the weights of m fit. If they do not fit, it
// returns the time after which the caller should try again at the latest.
func (e *Engine) makeRoom(m *model) (again time.Duration) {
	if e.config.Memory == 0 {
		return 0
	}
	again = time.Minute
	for e.used+m.bytes > e.config.Memory {
		var oldest *model
		for _, x := range e.models {
			if x.pipeline != nil && x.users == 0 && (oldest == nil || x.used.Before(oldest.used)) {
				oldest = x
			}
		}
		if oldest == nil {
			return again
		}
		if left := e.config.KeepAlive - time.Since(oldest.used); left > 0 {
			return left
		}
		e.close(oldest)
	}
	return 0
}

// close closes an unused model.
func (e *Engine) close(m *model) {
	m.pipeline, m.fingerprint = nil, ""
	e.used -= m.bytes
	e.announce()
	e.log.Info("model closed", "model", m.Name)
	go debug.FreeOSMemory()
}

// announce wakes the callers that wait for memory.
func (e *Engine) announce() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// load opens a model and waits for it. If ctx ends first, opening continues.
func (e *Engine) load(ctx context.Context, m *model) error {
	done := make(chan struct{})
	m.opening = done
	e.used += m.bytes
	var failed error
	go func() {
		began := time.Now()
		p, err := openPipeline(m, e.config.Batches)
		e.mu.Lock()
		defer e.mu.Unlock()
		if failed = err; err != nil {
			e.used -= m.bytes
			e.announce()
			e.log.Error("model cannot be opened", "model", m.Name, "error", err)
		} else {
			m.pipeline, m.used, m.limit = p, time.Now(), p.MaxTokens()
			if !e.config.NoFingerprints {
				go e.identify(m, p)
			}
			if g, ok := p.(*text.Generator); ok && g.SamplingFrom() == "" {
				e.log.Info("the model's file does not say how tokens are chosen: requests that do not say it either get their protocol's default", "model", m.Name, "openai", "temperature 1",
					"anthropic", "temperature 1", "ollama", "temperature 0.8, top_k 40, top_p 0.9")
			} else if ok {
				e.log.Info("sampling", "model", m.Name, "from", g.SamplingFrom())
			}
			e.log.Info("model opened", "model", m.Name, "kind", m.Kind, "seconds", time.Since(began).Seconds(), "replicas", len(p.Replicas()))
		}
		m.opening = nil
		close(done)
	}()
	if err := e.wait(ctx, done, 0); err != nil {
		return err
	}
	if failed != nil {
		return &Error{Kind: Unavailable, Message: fmt.Sprintf("the model %q cannot be opened", m.Name), Err: failed}
	}
	return nil
}

// identify computes the fingerprint of a model's pipeline, and stores it unless the pipeline was
// closed meanwhile.
func (e *Engine) identify(m *model, p text.Pipeline) {
	fingerprint, err := p.Fingerprint(context.Background())
	if err != nil {
		e.log.Warn("model has no fingerprint", "model", m.Name, "error", err)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if m.pipeline == p {
		m.fingerprint = fingerprint
		e.log.Info("fingerprint", "model", m.Name, "fingerprint", fingerprint)
	}
}

// fingerprint returns the fingerprint of an open model, "" until it is known.
func (e *Engine) fingerprint(m *model) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return m.fingerprint
}

// adapters returns the names of adapters that requests may use.
func (m *model) adapters() (names []string) {
	for _, a := range m.Options.Model.Adapters {
		if a.Name != "" {
			names = append(names, a.Name)
		}
	}
	return names
}

func openPipeline(m *model, batches func(windows, tokens int)) (p text.Pipeline, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	o := m.Options
	if batches != nil && slices.Contains(m.Kind.Info().Options, "OnBatch") {
		o.OnBatch = batches
	}
	return text.OpenKind(m.Kind, m.Dir, o)
}

func (e *Engine) release(m *model) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m.used = time.Now()
	if m.users--; m.users == 0 {
		e.announce()
	}
}

// Memory says how the models share the memory of the process, in bytes.
type Memory struct {
	Limit   int64 // memory of the process; 0: not known
	Limited bool  // by a cgroup
	Weights int64 // of all models, or of those that may be open at a time
	Working int64 // estimate for computing
	Cache   int64 // limit for keys and values of all models that generate; 0: no limit
	Sound   int64 // limit for the samples of one request's sound; 0: no transcriber, or no limit
}

// soundTimes is the largest memory of a sound as a multiple of its samples: its parts while these
// are joined, and a spectrogram.
const soundTimes = 3

// shareMemory divides the memory that weights and activations of all models leave equally among the
// models that generate, except those whose options state their part. open is the largest number of
// bytes of weights at a time, 0 for no limit. The error matches fault.ErrMemory if weights and
// activations do not fit.
func shareMemory(all []*model, open int64) (s Memory, err error) {
	s.Limit, s.Limited = replica.Memory()
	var loading, most, least, given int64 // additional memory for opening, largest activations of one model, minimum of keys and values, memory that options state
	var sharing []*model
	for _, m := range all {
		f := m.footprint
		s.Weights += f.Weights
		s.Working += f.Working
		loading, most = max(loading, f.Loading-f.Weights), max(most, f.Working)
		if !slices.Contains(m.Kind.Info().Options, "CacheMemory") {
			continue
		}
		if m.Options.CacheMemory > 0 {
			given += m.Options.CacheMemory
		} else {
			sharing = append(sharing, m)
			least += leastTokens*f.Token + f.State
		}
	}
	if open > 0 {
		s.Weights = min(s.Weights, open)
	}
	s.Cache = given
	if s.Limit == 0 {
		s.Cache = 0
		return s, nil
	}
	room := replica.Room(s.Limit) - s.Weights - given
	if need := max(loading, most+least); need > room {
		return s, &fault.Error{Kind: fault.ErrMemory, Err: fmt.Errorf("%s allows %d MB: %d MB are for weights, at least %d MB for computing, %d MB for keys and values, and %d MB for the program; "+
			"weights of fewer bits, fewer models, fewer threads or smaller batches take less",
			map[bool]string{true: "the cgroup", false: "the machine"}[s.Limited], s.Limit/1e6, s.Weights/1e6, max(loading, most)/1e6, (least+given)/1e6, (s.Limit-replica.Room(s.Limit))/1e6)}
	}
	if s.Working+least > room {
		s.Working = most // not all models compute at a time
	}
	if slices.ContainsFunc(all, func(m *model) bool { return m.Kind == text.KindTranscriber }) { // half of the rest is for sound
		s.Sound = max(1, min(s.Limit/4, (room-s.Working-least)/(2*soundTimes)))
		s.Working += soundTimes * s.Sound
	}
	if len(sharing) == 0 {
		return s, nil
	}
	each, kept := replica.Cache(s.Limit, s.Weights+s.Working+given, len(sharing))
	for _, m := range sharing {
		m.Options.CacheMemory = each
		if m.Options.CacheKept == 0 {
			m.Options.CacheKept = kept
		}
		s.Cache += each
	}
	return s, nil
}

// leastTokens is the number of tokens whose keys and values must fit for each model that generates.
const leastTokens = 128
