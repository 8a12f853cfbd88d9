// This file has records of requests, for logs, metrics and traces.

package engine

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/avoformer/avoformer/text"
)

// Record describes one request. It is complete when Observer.End receives it.
type Record struct {
	ID       string // the request's
	Method   string
	Route    string // the pattern of the route; "" without a route
	Protocol string
	Began    time.Time

	Model string // its name, not the requested alias
	Kind  text.Kind
	// Fingerprint is the model's fingerprint, "" until it is known.
	Fingerprint string
	// Texts is the number of texts, of which Cut were too long and cut, and Split too long and
	// split. Tokens is the number of their tokens, of which Shared were reused from an earlier
	// prompt. Generated is the number of generated tokens.
	Texts, Cut, Split, Tokens, Generated, Shared int
	Load                                         time.Duration // until the model was open
	Started                                      time.Time     // when the model was open
	Compute                                      time.Duration // from Started to the last result, including the wait for batches of other calls
	Wait                                         time.Duration // part of Compute until the first batch with the request's texts; 0 for generated texts
	First                                        time.Duration // from Started to the first piece of a generated text

	Warnings []string // deviations from the request that did not prevent the answer; also sent to the client

	Status  int
	Bytes   int64  // of the answer
	Failure *Error // the error that was answered, or nil
	Total   time.Duration
}

// Observer is notified when requests begin and end, on the goroutines that answer them.
type Observer interface {
	// Begin returns the context for all work for the request: the request's own, or one derived
	// from it.
	Begin(r *http.Request, rec *Record) context.Context
	End(ctx context.Context, r *Record)
}

type recordKey struct{}

// WithRecord returns a context with a record, which the engine's operations fill.
func WithRecord(ctx context.Context, r *Record) context.Context {
	return context.WithValue(ctx, recordKey{}, r)
}

// RecordOf returns the record of a context, or an unused one.
func RecordOf(ctx context.Context) *Record {
	if r, ok := ctx.Value(recordKey{}).(*Record); ok {
		return r
	}
	return new(Record)
}

// start sets Started when it is called first, and returns the current time.
func (r *Record) start() time.Time {
	now := time.Now()
	if r.Started.IsZero() {
		r.Started = now
	}
	return now
}

// Warn adds a warning to a header of the answer and to the log. The client does not receive it if
// the answer has already begun.
func (r *Record) Warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}
