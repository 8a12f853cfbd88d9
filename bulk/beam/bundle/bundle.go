// Package bundle has the code that the transforms of packages embed, rank and classify share: it
// opens the model once per process, and the model's own threads compute batches of a bundle's texts
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
	Text   []byte // as it came: it may be no UTF-8
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
// PCollection<KV<key, Dead>> of the texts without a result. It panics if the pipeline is not
// possible, as Beam's transforms do.
func Apply[R any](s beam.Scope, kind, argument string, m Model, col beam.PCollection) (results, dead beam.PCollection) {
	_, value := beam.ValidateKVType(col)
	if t := value.Type(); t.Kind() != reflect.String && t != reflect.TypeFor[[]byte]() {
		panic(fmt.Sprintf("%s.Texts: values are %v, want string or []byte", kind, t))
	}
	return beam.ParDo2(s.Scope("avoformer/"+kind), &fn{Spec: spec{kind, argument, m}}, col, beam.TypeDefinition{Var: beam.XType, T: reflect.TypeFor[R]()})
}

// The counters of all transforms.
var (
	countTexts   = beam.NewCounter("avoformer", "texts")   // that came
	countResults = beam.NewCounter("avoformer", "results") // of texts
	countDead    = beam.NewCounter("avoformer", "dead")    // letters
	countTokens  = beam.NewCounter("avoformer", "tokens")  // computed
	countCut     = beam.NewCounter("avoformer", "cut")     // texts that were cut, as text.Counts.Cut says
	countBatches = beam.NewCounter("avoformer", "batches")
)

const (
	// defaultTokens is the budget of a batch: some dozens of a model's own batches, so that sorting
	// by length pays.
	defaultTokens = 1 << 14
	bytesPerToken = 4 // about, in English
	// ahead is how many batches are computed while one is filled: the model has always one to
	// continue with.
	ahead = 2
)

// fn computes the texts of bundles. Runners may hand out one bundle at a time, so it is not
// instances of fn that work side by side but the batches of one.
type fn struct {
	Spec spec

	held    bool // the model
	task    bulk.Task
	filling *batch
	waiting []*batch // that are computed, the oldest first
}

// batch is some elements of a bundle.
type batch struct {
	keys  []beam.T
	times []beam.EventTime
	texts []string
	bytes int

	results []bulk.Result
	err     error
	done    chan struct{}
}

// Setup opens the model, unless another instance in this process has.
func (f *fn) Setup() error {
	var err error
	f.task, err = acquire(f.Spec)
	f.held = err == nil
	return err
}

// Teardown lets the model go.
func (f *fn) Teardown() {
	if f.held {
		f.held = false
		release(f.Spec)
	}
}

// StartBundle forgets what a bundle that failed has left.
func (f *fn) StartBundle(_ context.Context, _ func(beam.EventTime, beam.T, beam.X), _ func(beam.EventTime, beam.T, Dead)) {
	f.filling, f.waiting = &batch{}, nil
}

// ProcessElement takes a text to its batch. Results that come with later elements, or the bundle's
// end, would be in the windows of those: outside the global window a text is computed at once.
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
	b.bytes += len(text) + bytesPerToken // of an empty text too
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

// begin begins to compute the batch that was filled.
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

// end emits what the oldest batch has come to.
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
