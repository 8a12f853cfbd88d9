// Package queue shares a pipeline's threads and batches between its calls.
//
// A text takes these steps. [Queue.Do] puts its [Call] among the calls that have not ended (work.go). A goroutine takes the next texts of
// the call as a page, and makes windows of tokens of them, which then wait in the call (page.go). A goroutine takes windows of
// all calls of a kind as a batch, computes them, and hands each result to its text; a text that has all of them goes to the
// call's Finish (batch.go). With its last text, or with an error, the call ends, and Do returns (queue.go).
// [Queue.Each] computes inputs that are neither tokenised nor put into batches, such as images (each.go), also on replicas (replica.go).
//
// Texts are tokenised only as far ahead as keeps the computation busy. A call whose context is cancelled
// returns at once. A text that fails makes only its own call fail.
package queue

import (
	"fmt"
	"slices"
	"sync"
)

// Queue is that of a pipeline. Its exported fields are set before the first call.
type Queue struct {
	Replicas    []*Replica                // one at least
	BatchTokens int                       // most tokens of a batch, a single longer window aside
	Observe     func(windows, tokens int) // gets the size of each batch before it is computed; may be nil

	mu         sync.Mutex
	calls      []*Call  // that have not ended, the oldest first
	items      []*items // calls of Each with items that have not begun; the next item is of the first
	ready      int      // tokens that wait to be computed
	tokenising int      // bytes of the texts that are being tokenised
	clock      int      // tokens of batches that have ended
	turn       int      // the number of batches
}

// InputError is the error of one of a call's texts, by its number from 0.
type InputError struct {
	Number int
	Err    error
}

func (e *InputError) Error() string { return fmt.Sprintf("input %d: %v", e.Number, e.Err) }

// Unwrap is Err.
func (e *InputError) Unwrap() error { return e.Err }

// Load is how much a queue has to do.
type Load struct {
	Calls      int
	Threads    int // that are busy
	Tokens     int // that wait to be computed
	Tokenising int // bytes of texts
}

// Load says what the queue has to do now.
func (q *Queue) Load() Load {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Load{len(q.calls), q.used(), q.ready, q.tokenising}
}

// Work says what each replica does.
func (q *Queue) Work() []Work {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]Work, len(q.Replicas))
	for i, r := range q.Replicas {
		all[i] = Work{r.used, r.batches, r.tokens}
	}
	return all
}

// threads are those of all replicas.
func (q *Queue) threads() (n int) {
	for _, r := range q.Replicas {
		n += r.Threads
	}
	return n
}

// used returns the threads that are busy.
func (q *Queue) used() (n int) {
	for _, r := range q.Replicas {
		n += r.used
	}
	return n
}

// idlest returns the replica with the most free threads, the first of several; nil if no thread is free.
func (q *Queue) idlest() (best *Replica) {
	free := 0
	for _, r := range q.Replicas {
		if n := r.Threads - r.used; n > free {
			best, free = r, n
		}
	}
	return best
}

// finished counts texts of a call that have their results.
func (q *Queue) finished(c *Call, texts int) {
	if c.left -= texts; c.left == 0 {
		q.end(c)
	}
}

// fail ends a call with an error of the text at, of several errors that of the first text.
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

// withdraw ends a call whose results nobody waits for, unless it has ended.
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

// drop takes a call's texts and windows out of the queue. Texts before stop that are being
// tokenised may still be refused.
func (q *Queue) drop(c *Call, stop int) {
	c.stop.Store(int64(stop))
	q.ready -= c.ready
	c.next, c.ready, c.pages = c.Size, 0, nil
}

// end takes a call that has its results, or an error, out of the queue.
func (q *Queue) end(c *Call) {
	if i := slices.Index(q.calls, c); i >= 0 {
		q.calls = slices.Delete(q.calls, i, i+1)
		c.ended = true
		close(c.done)
	}
}
