// The goroutines that do the work of calls.

package queue

import (
	"context"

	"github.com/avoformer/avoformer/models"
)

// Do does a call's work, concurrently with that of other calls.
func (q *Queue) Do(ctx context.Context, c *Call) error {
	if err := context.Cause(ctx); err != nil || c.Size == 0 {
		return err
	}
	c.left, c.done = c.Size, make(chan struct{})
	c.stop.Store(int64(c.Size))
	q.mu.Lock()
	c.due = q.clock
	q.calls = append(q.calls, c)
	q.dispatch()
	q.mu.Unlock()
	select {
	case <-c.done:
	case <-ctx.Done():
		if q.withdraw(c) {
			return context.Cause(ctx)
		}
	}
	if p, ok := c.err.(*panicked); ok {
		panic(p.value)
	}
	return c.err
}

// Each calls compute for each of n items, with a workspace and its threads. If there are as many
// items as threads, items are computed side by side, each on one thread; if there are fewer, each
// has more threads. Items of several calls share the threads. Each returns when no item is being
// computed: with the error of the first item that failed and its number, or with the error of ctx,
// after which no item begins. Each passes a panic of compute to its caller.
func (q *Queue) Each(ctx context.Context, n int, compute func(ws *models.Workspace, i int) error) (at int, err error) {
	if err := context.Cause(ctx); err != nil || n == 0 {
		return 0, err
	}
	c := &items{size: n, compute: compute, done: make(chan struct{})}
	q.mu.Lock()
	q.items = append(q.items, c)
	q.dispatch()
	q.mu.Unlock()
	select {
	case <-c.done:
	case <-ctx.Done():
		q.mu.Lock()
		c.end(q)
		q.mu.Unlock()
		<-c.done
		if c.err == nil && c.next < n {
			return c.next, context.Cause(ctx)
		}
	}
	if p, ok := c.err.(*panicked); ok {
		panic(p.value)
	}
	return c.at, c.err
}

// job is a part of the work: a page, a batch or an item. It is taken and settled under the queue's
// lock, and done without it.
type job interface {
	do(space func() *models.Workspace)
	settle()
}

// dispatch starts goroutines for all jobs that can be done now.
func (q *Queue) dispatch() {
	for r := q.idlest(); r != nil; r = q.idlest() {
		j := q.take(r)
		if j == nil {
			return
		}
		go q.work(r, j)
	}
}

// work does a job on a replica, and then further jobs until there are none.
func (q *Queue) work(r *Replica, j job) {
	defer r.bind()()
	var ws *models.Workspace
	space := func() *models.Workspace {
		if ws == nil {
			ws = r.space()
		}
		return ws
	}
	for j != nil {
		j.do(space)
		q.mu.Lock()
		j.settle()
		if j = q.take(r); j == nil && ws != nil {
			r.spaces.Put(ws) // before another goroutine wants one
		}
		q.dispatch()
		q.mu.Unlock()
	}
}

// shortTexts is the number of bytes of texts being tokenised for which a batch waits: milliseconds.
const shortTexts = 1 << 17

// take returns the next job of a replica, or nil: an item, or a page if tokens are wanted, or a
// batch.
func (q *Queue) take(r *Replica) job {
	if r.used == r.Threads {
		return nil
	}
	if len(q.items) > 0 {
		return q.takeItem(r)
	}
	if c := q.wanting(); c != nil {
		return q.takePage(r, c)
	}
	if q.ready == 0 || q.ready < q.enough() && q.tokenising > 0 && q.tokenising <= shortTexts {
		return nil
	}
	return q.takeBatch(r)
}
