// Package queue shares a pipeline's threads and batches between its calls.
//
// A text takes these steps. [Queue.Do] adds its [Call] to the calls in progress (work.go). A
// goroutine takes the next texts of the call as a page, and makes windows of tokens of them, which
// then wait in the call (page.go). A goroutine takes windows of all calls of a kind as a batch,
// computes them, and passes each result to its text; a text that has all its results goes to the
// call's Finish (batch.go). With its last text, or with an error, the call ends, and Do returns
// (queue.go). [Queue.Each] computes inputs that are neither tokenised nor put into batches, such as
// images (each.go), also on replicas (replica.go).
//
// Texts are tokenised only as far ahead as needed to keep the computation busy. A call whose
// context is cancelled returns immediately. A text that fails makes only its own call fail.
package queue

import (
	"fmt"
	"slices"
	"sync"
)

// Queue is the queue of a pipeline. Its exported fields are set before the first call.
type Queue struct {
	Replicas    []*Replica                // at least one
	BatchTokens int                       // most tokens of a batch, except for a single longer window
	Observe     func(windows, tokens int) // gets the size of each batch before it is computed; may be nil

	mu         sync.Mutex
	calls      []*Call  // in progress, the oldest first
	items      []*items // calls of Each with items that have not begun; the next item is from the first call
	ready      int      // tokens that wait to be computed
	tokenising int      // bytes of the texts that are being tokenised
	clock      int      // tokens of batches that have ended
	turn       int      // the number of batches
}

// InputError is the error of a text of a call, with its number from 0.
type InputError struct {
	Number int
	Err    error
}

func (e *InputError) Error() string { return fmt.Sprintf("input %d: %v", e.Number, e.Err) }

// Unwrap returns Err.
func (e *InputError) Unwrap() error { return e.Err }

// Load is the work that a queue has.
type Load struct {
	Calls      int
	Threads    int // that are busy
	Tokens     int // that wait to be computed
	Tokenising int // bytes of texts
}

// Load returns the work that the queue has now.
func (q *Queue) Load() Load {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Load{len(q.calls), q.used(), q.ready, q.tokenising}
}

// Work returns the work of each replica.
func (q *Queue) Work() []Work {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]Work, len(q.Replicas))
	for i, r := range q.Replicas {
		all[i] = Work{r.used, r.batches, r.tokens}
	}
	return all
}

// threads returns the number of threads of all replicas.
func (q *Queue) threads() (n int) {
	for _, r := range q.Replicas {
		n += r.Threads
	}
	return n
}

// used returns the number of busy threads.
func (q *Queue) used() (n int) {
	for _, r := range q.Replicas {
		n += r.used
	}
	return n
}

// idlest returns the replica with the most free threads, the first of several; nil if no thread is
// free.
func (q *Queue) idlest() (best *Replica) {
	free := 0
	for _, r := range q.Replicas {
		if n := r.Threads - r.used; n > free {
			best, free = r, n
		}
	}
	return best
}

// finished counts texts of a call that have their results, and ends the call with the last.
func (q *Queue) finished(c *Call, texts int) {
	if c.left -= texts; c.left == 0 {
		q.end(c)
	}
}

// fail ends a call with an error of the text at. Of several errors, that of the first text counts.
func (q *Queue) fail(c *Call, at int, err error) {
	if c.ended {
		return
	}
	if c.err == nil || at < c.at {
		c.err, c.at = err, at
		q.drop(c, at)
	}
	if c.encoding == 0 {
		q.end(c)
	}
}

// withdraw ends a call for whose results no caller waits, unless it has ended.
func (q *Queue) withdraw(c *Call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.ended {
		return false
	}
	q.drop(c, 0)
	q.end(c)
	return true
}

// drop removes a call's texts and windows from the queue. Texts before stop that are being
// tokenised may still be refused.
func (q *Queue) drop(c *Call, stop int) {
	c.stop.Store(int64(stop))
	q.ready -= c.ready
	c.next, c.ready, c.pages = c.Size, 0, nil
}

// end removes a call that has its results, or an error, from the queue.
func (q *Queue) end(c *Call) {
	if i := slices.Index(q.calls, c); i >= 0 {
		q.calls = slices.Delete(q.calls, i, i+1)
		c.ended = true
		close(c.done)
	}
}
