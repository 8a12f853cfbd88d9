// Admission: the number of requests, of texts, and of bytes of bodies in progress is bounded.

package engine

import (
	"math"
	"sync"
	"time"
)

// gate counts requests and texts in progress. A refusal costs only a lock.
type gate struct {
	requests, texts int   // limits of those in progress
	bytes           int64 // limit of the bytes of bodies in progress

	mu              sync.Mutex
	closed          bool
	inRequests      int
	inTexts         int
	inBytes         int64
	rate            float64 // texts per second, a decaying mean
	since           time.Time
	done            int           // texts since then
	emptied         chan struct{} // closed when the gate is closed and no request is in progress
	admitted, ended uint64        // requests so far
	refused         uint64
}

// Enter admits a request, or refuses it at once. An admitted request must call leave once.
func (e *Engine) Enter() (leave func(), err error) {
	g := &e.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, &Error{Kind: Unavailable, Message: "the server is shutting down"}
	}
	if g.inRequests >= g.requests {
		return nil, g.overloaded()
	}
	g.inRequests++
	g.admitted++
	return g.leave, nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inRequests--
	g.ended++
	if g.closed && g.inRequests == 0 && g.emptied != nil {
		close(g.emptied)
		g.emptied = nil
	}
}

// reserve counts texts as in progress until done is called. A request with more texts than the
// limit is admitted if no other texts are in progress.
func (e *Engine) reserve(n int) (done func(), err error) {
	g := &e.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inTexts > 0 && g.inTexts+n > g.texts {
		return nil, g.overloaded()
	}
	g.inTexts += n
	return func() { g.release(n) }, nil
}

// release counts texts as done, and measures their rate.
func (g *gate) release(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inTexts -= n
	g.done += n
	now := time.Now()
	if g.since.IsZero() {
		g.since = now
	}
	if d := now.Sub(g.since).Seconds(); d >= 0.25 {
		fresh := float64(g.done) / d
		if g.rate > 0 {
			old := math.Exp(-d / 2)
			fresh = old*g.rate + (1-old)*fresh
		}
		g.rate, g.since, g.done = fresh, now, 0
	}
}

// overloaded returns the refusal, with an estimate of the time that the admitted texts will take.
func (g *gate) overloaded() *Error {
	g.refused++
	after := time.Second
	if g.rate > 0 {
		after = time.Duration(math.Ceil(float64(g.inTexts)/g.rate)) * time.Second
	}
	return &Error{Kind: Overloaded, Message: "the queue is full", RetryAfter: min(max(after, time.Second), time.Minute)}
}
