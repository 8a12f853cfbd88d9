// Package gaps measures the time between the tokens of texts that are generated at the same time.
package gaps

import (
	"slices"
	"sync"
	"time"
)

// A Watch records the times of the tokens of some texts. It is safe for concurrent use.
type Watch struct {
	mu    sync.Mutex
	gaps  []gap
	last  []time.Time // the time of each text's last token
	ended error
}

type gap struct{ from, to time.Time }

// New returns the Watch of a number of texts.
func New(texts int) *Watch { return &Watch{last: make([]time.Time, texts)} }

// Token records that text i has a token now, and reports whether it is the text's first one.
func (w *Watch) Token(i int) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if first = w.last[i].IsZero(); !first {
		w.gaps = append(w.gaps, gap{w.last[i], now})
	}
	w.last[i] = now
	return first
}

// End records that a text has ended with an error, so that During does not wait for it. Err returns
// the error of the last call.
func (w *Watch) End(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = err
}

// Err returns the last error of End, or nil.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// During calls do, waits until each text has had another token, and returns the seconds of the gaps
// that overlap with do's run.
func (w *Watch) During(do func()) (seconds []float64) {
	begin := time.Now()
	do()
	end := time.Now()
	for {
		w.mu.Lock()
		if w.ended != nil || !slices.ContainsFunc(w.last, end.After) {
			break
		}
		w.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	defer w.mu.Unlock()
	for _, g := range w.gaps {
		if g.to.After(begin) && g.from.Before(end) {
			seconds = append(seconds, g.to.Sub(g.from).Seconds())
		}
	}
	w.gaps = nil
	return seconds
}
