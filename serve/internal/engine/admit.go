// Admission: the number of requests, of texts, and of bytes of bodies in progress is bounded.

package engine

import (
	"math"
	"sync"
	"time"
)

// gate counts requests and texts that are being answered. A refusal takes a lock and nothing else.
type gate struct {
	requests, texts int   // the most at a time
	bytes           int64 // of bodies, the most at a time

	mu              sync.Mutex
	closed          bool
	inRequests      int
	inTexts         int
	inBytes         int64
	rate            float64 // texts a second, a mean in which old ones count less
	since           time.Time
	done            int           // texts since then
	emptied         chan struct{} // closed once nobody is inside and the gate is closed
	admitted, ended uint64        // requests so far
	refused         uint64
}

// Enter lets a request in, which leaves by calling leave once, or refuses it at once.
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

// reserve takes room for texts until done is called. A request of more texts than the whole room is
// admitted when no other request is inside.
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

// release gives the room of texts back, and measures how fast they come.
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

// overloaded returns the refusal, with the time that the admitted requests will take.
func (g *gate) overloaded() *Error {
	g.refused++
	after := time.Second
	if g.rate > 0 {
		after = time.Duration(math.Ceil(float64(g.inTexts)/g.rate)) * time.Second
	}
	return &Error{Kind: Overloaded, Message: "the queue is full", RetryAfter: min(max(after, time.Second), time.Minute)}
}
