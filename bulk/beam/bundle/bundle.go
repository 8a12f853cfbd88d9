// Package bundle has the code that the transforms of packages embed, rank and classify share: it
// opens the model once per process. The model's own threads compute batches of a bundle's texts
// while the bundle continues.
//
// This package is experimental: see doc/stability.md.
package bundle

import (
	"context"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/avoformer/avoformer/bulk"
)

// Dead is a text without a result.
type Dead struct {
	Text   []byte // as read, possibly not UTF-8
	Reason string
}

func init() {
	register.DoFn7x1[context.Context, beam.Window, beam.EventTime, beam.T, beam.U, func(beam.EventTime, beam.T, beam.X), func(beam.EventTime, beam.T, Dead), error](&fn{})
	register.Emitter3[beam.EventTime, beam.T, beam.X]()
	register.Emitter3[beam.EventTime, beam.T, Dead]()
	beam.RegisterType(reflect.TypeFor[Dead]())
}

// Apply applies a kind of task to col, a PCollection<KV<key, text>> whose texts are string or
// []byte. It returns a PCollection<KV<key, R>>, R being the type of the kind's Value, and a
// PCollection<KV<key, Dead>> of the texts without a result. Like Beam's transforms, it panics if
// the pipeline is invalid.
func Apply[R any](s beam.Scope, kind, argument string, m Model, col beam.PCollection) (results, dead beam.PCollection) {
	_, value := beam.ValidateKVType(col)
	if t := value.Type(); t.Kind() != reflect.String && t != reflect.TypeFor[[]byte]() {
		panic(fmt.Sprintf("%s.Texts: values are %v, want string or []byte", kind, t))
	}
	return beam.ParDo2(s.Scope("avoformer/"+kind), &fn{Spec: spec{kind, argument, m}}, col, beam.TypeDefinition{Var: beam.XType, T: reflect.TypeFor[R]()})
}

// All transforms share these counters.
var (
	countTexts   = beam.NewCounter("avoformer", "texts")   // elements received
	countResults = beam.NewCounter("avoformer", "results") // texts with a result
	countDead    = beam.NewCounter("avoformer", "dead")    // texts without a result
	countTokens  = beam.NewCounter("avoformer", "tokens")  // tokens that were computed
	countCut     = beam.NewCounter("avoformer", "cut")     // texts that were cut, as text.Counts.Cut defines
	countBatches = beam.NewCounter("avoformer", "batches")
)

const (
	// defaultTokens is the default budget of a batch. It is dozens of a model's own batches, so
	// that sorting texts by length saves time.
	defaultTokens = 1 << 14
	bytesPerToken = 4 // approximate, in English
	// ahead is the number of batches that are computed while one is filled, so that the model never
	// waits for the next batch.
	ahead = 2
)

// fn computes the texts of bundles. Since runners may process one bundle at a time, the batches of
// one fn run concurrently, rather than several instances of fn.
type fn struct {
	Spec spec

	held    bool // this instance uses the model
	task    bulk.Task
	filling *batch
	waiting []*batch // batches that are being computed, the oldest first
}

// batch has some elements of a bundle, and later their results.
type batch struct {
	keys  []beam.T
	times []beam.EventTime
	texts []string
	bytes int

	results []bulk.Result
	err     error
	done    chan struct{}
}

// Setup opens the model, unless another instance in this process has opened it.
func (f *fn) Setup() error {
	var err error
	f.task, err = acquire(f.Spec)
	f.held = err == nil
	return err
}

// Teardown releases the model.
func (f *fn) Teardown() {
	if f.held {
		f.held = false
		release(f.Spec)
	}
}

// StartBundle discards batches that a failed bundle left.
func (f *fn) StartBundle(_ context.Context, _ func(beam.EventTime, beam.T, beam.X), _ func(beam.EventTime, beam.T, Dead)) {
	f.filling, f.waiting = &batch{}, nil
}

// ProcessElement adds a text to a batch. A result that is emitted with a later element, or at the
// bundle's end, would be in the window of that. Therefore a text outside the global window is
// computed at once.
func (f *fn) ProcessElement(ctx context.Context, w beam.Window, at beam.EventTime, key beam.T, value beam.U, emit func(beam.EventTime, beam.T, beam.X), dead func(beam.EventTime, beam.T, Dead)) error {
	var text string
	if b, ok := value.([]byte); ok {
		text = string(b)
	} else {
		text = reflect.ValueOf(value).String()
	}
	countTexts.Inc(ctx, 1)
	b := f.filling
	b.keys, b.times, b.texts = append(b.keys, key), append(b.times, at), append(b.texts, text)
	b.bytes += len(text) + bytesPerToken // so that an empty text counts, too
	if !(window.GlobalWindow{}).Equals(w) {
		return f.flush(ctx, emit, dead)
	}
	budget := f.Spec.Model.BatchTokens
	if budget <= 0 {
		budget = defaultTokens
	}
	if b.bytes < budget*bytesPerToken {
		return nil
	}
	f.begin(ctx)
	if len(f.waiting) <= ahead {
		return nil
	}
	return f.end(ctx, emit, dead)
}

// FinishBundle waits for all batches.
func (f *fn) FinishBundle(ctx context.Context, emit func(beam.EventTime, beam.T, beam.X), dead func(beam.EventTime, beam.T, Dead)) error {
	return f.flush(ctx, emit, dead)
}

func (f *fn) flush(ctx context.Context, emit func(beam.EventTime, beam.T, beam.X), dead func(beam.EventTime, beam.T, Dead)) error {
	if len(f.filling.texts) > 0 {
		f.begin(ctx)
	}
	for len(f.waiting) > 0 {
		if err := f.end(ctx, emit, dead); err != nil {
			return err
		}
	}
	return nil
}

// begin starts the computation of the filled batch.
func (f *fn) begin(ctx context.Context) {
	b, t := f.filling, f.task
	f.filling = &batch{}
	b.done = make(chan struct{})
	f.waiting = append(f.waiting, b)
	countBatches.Inc(ctx, 1)
	go func() {
		defer close(b.done)
		b.results, b.err = t.Each(ctx, b.texts)
	}()
}

// end waits for the oldest batch and emits its results.
func (f *fn) end(ctx context.Context, emit func(beam.EventTime, beam.T, beam.X), dead func(beam.EventTime, beam.T, Dead)) error {
	b := f.waiting[0]
	f.waiting = f.waiting[1:]
	<-b.done
	if b.err != nil {
		return fmt.Errorf("avoformer %s: %w", f.Spec.Kind, b.err)
	}
	var ok, bad, tokens, cut int64
	value := kinds[f.Spec.Kind].Value
	for i, r := range b.results {
		if r.Err != nil {
			bad++
			dead(b.times[i], b.keys[i], Dead{[]byte(b.texts[i]), r.Err.Error()})
			continue
		}
		ok++
		tokens += int64(r.Tokens)
		if r.Cut {
			cut++
		}
		emit(b.times[i], b.keys[i], value(r))
	}
	countResults.Inc(ctx, ok)
	countDead.Inc(ctx, bad)
	countTokens.Inc(ctx, tokens)
	countCut.Inc(ctx, cut)
	return nil
}
