// This file has observers of requests, in addition to logs and metrics.

package serve

import (
	"context"
	"net/http"
	"time"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/metrics"
)

// Observer is notified when requests begin and end, on the goroutines that answer them. Package
// serve/tracing has an Observer that creates spans.
type Observer interface {
	// Begin is called before a request is admitted, with the pattern of its route, or "" if no
	// route matches. The request is answered in the context that Begin returns: the request's own,
	// or one derived from it.
	Begin(r *http.Request, route string) context.Context
	// End is called with that context after the request has been answered.
	End(ctx context.Context, o Outcome)
}

// Outcome describes an answered request.
type Outcome struct {
	ID       string // as in the answer's X-Request-Id
	Protocol string // such as "openai"; "none" if there is no route
	Model    string // its name, not the requested alias; "" if the request has no model
	Status   int
	Bytes    int64 // of the answer
	Failure  error // the error that was answered, or nil

	// Texts is the number of texts of the request. Cut of them were cut, as text.Counts.Cut
	// defines, and Split were computed in several windows. Tokens is the number of tokens of the
	// texts, of which Shared were reused from earlier texts and the rest was computed. Generated is
	// the number of generated tokens.
	Texts, Cut, Split, Tokens, Shared, Generated int

	Began   time.Time     // when the request arrived
	Started time.Time     // when its model was open; zero if it needed no model
	Wait    time.Duration // from Started to the first batch with its texts; 0 for generated texts
	First   time.Duration // from Started to the first piece of a generated text; 0 without one
	Compute time.Duration // from Started to the last result
	Total   time.Duration // from Began
}

// observers has the server's metrics, and another observer or nil.
type observers struct {
	*metrics.Metrics
	other Observer
}

func (o observers) Begin(r *http.Request, rec *engine.Record) context.Context {
	if o.other == nil {
		return r.Context()
	}
	return o.other.Begin(r, rec.Route)
}

func (o observers) End(ctx context.Context, r *engine.Record) {
	o.Metrics.End(ctx, r)
	if o.other == nil {
		return
	}
	out := Outcome{
		ID: r.ID, Protocol: r.Protocol, Model: r.Model, Status: r.Status, Bytes: r.Bytes,
		Texts: r.Texts, Cut: r.Cut, Split: r.Split, Tokens: r.Tokens, Shared: r.Shared, Generated: r.Generated,
		Began: r.Began, Started: r.Started, Wait: r.Wait, First: r.First, Compute: r.Compute, Total: r.Total,
	}
	if r.Failure != nil {
		out.Failure = r.Failure
	}
	o.other.End(ctx, out)
}
