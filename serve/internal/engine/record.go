// Records of requests, for logs, metrics and traces.

package engine

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/avoformer/avoformer/text"
)

// Record describes one request. It is complete when Observer.End gets it.
type Record struct {
	ID       string // the request's
	Method   string
	Route    string // the pattern of the route; "" for none
	Protocol string
	Began    time.Time

	Model string // its name, whatever alias was asked for
	Kind  text.Kind
	// Fingerprint is the model's, "" until it is known.
	Fingerprint string
	// Texts were given, of which Cut were too long and cut, and Split too long and split; Tokens
	// were computed, and Generated chosen. Shared are those of Tokens that a prompt before had.
	Texts, Cut, Split, Tokens, Generated, Shared int
	Load                                         time.Duration // until the model was there
	Started                                      time.Time     // when the model was there
	Compute                                      time.Duration // from then to the last result, with the wait for the batches of other calls
	Wait                                         time.Duration // of Compute, until the first batch with the request's texts; of texts that are generated 0
	First                                        time.Duration // until the first piece of a text that is generated

	Warnings []string // what of a request was not done as it asks, though it is answered; for the client too

	Status  int
	Bytes   int64  // of the answer
	Failure *Error // why the answer is an error
	Total   time.Duration
}

// Observer sees requests begin and end, on the goroutines that answer them.
type Observer interface {
	// Begin may add to the request's context. All work for the request has that context.
	Begin(r *http.Request, rec *Record) context.Context
	End(ctx context.Context, r *Record)
}

type recordKey struct{}

// WithRecord returns a context in which the engine's operations note what they do.
func WithRecord(ctx context.Context, r *Record) context.Context {
	return context.WithValue(ctx, recordKey{}, r)
}

// RecordOf returns the record of a context, or one that nobody reads.
func RecordOf(ctx context.Context) *Record {
	if r, ok := ctx.Value(recordKey{}).(*Record); ok {
		return r
	}
	return new(Record)
}

// start notes that the model is there, the first time, and what time it is.
func (r *Record) start() time.Time {
	now := time.Now()
	if r.Started.IsZero() {
		r.Started = now
	}
	return now
}

// Warn adds a warning, which is not an error, to a header of the answer and to the log. The client
// does not get it if the answer has already begun.
func (r *Record) Warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}
