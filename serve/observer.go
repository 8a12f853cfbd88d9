// Observers of requests, in addition to logs and metrics.

package serve

import (
	"context"
	"net/http"
	"time"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/metrics"
)

// Observer sees requests begin and end, on the goroutines that answer them; package serve/tracing
// has one that makes spans of them.
type Observer interface {
	// Begin is called before a request is let in, with the pattern of its route, "" if no route
	// matches. The work for the request has the context that Begin returns: the request's, or one
	// derived from it.
	Begin(r *http.Request, route string) context.Context
	// End is called once the request has been answered, with that context.
	End(ctx context.Context, o Outcome)
}

// Outcome is what became of a request.
type Outcome struct {
	ID       string // as in the answer's X-Request-Id
	Protocol string // such as "openai"; "none" if there is no route
	Model    string // its name, whatever alias was asked for; "" if none was
	Status   int
	Bytes    int64 // of the answer
	Failure  error // why the answer is an error

	// Texts were given; Cut of them were cut, as text.Counts.Cut says, and Split were computed as
	// several windows. Tokens were computed or, as counted in Shared, reused from an earlier text;
	// Generated were chosen.
	Texts, Cut, Split, Tokens, Shared, Generated int

	Began   time.Time     // when the request came
	Started time.Time     // when its model was there; zero if it needed none
	Wait    time.Duration // from Started to the first batch with its texts; of texts that are generated 0
	First   time.Duration // from Started to the first piece of a text that is generated; 0: there is none
	Compute time.Duration // from Started to the last result
	Total   time.Duration // from Began
}

// observers are the server's metrics and another, or nil.
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
