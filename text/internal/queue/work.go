// Goroutines that do what there is to do.

package queue

import (
	"context"

	"github.com/avoformer/avoformer/models"
)

// Do does a call's work, beside that of other calls.
func (q *Queue) Do(ctx context.Context, c *Call) error {
	if err := ctx.Err(); err != nil || c.Size == 0 {
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

// job is a part of the work, a page or a batch. It is taken and settled under the queue's lock, and done without it.
type job interface {
	do(space func() *models.Workspace)
	settle()
}

// dispatch starts goroutines for all that can be done now.
func (q *Queue) dispatch() {
	for j := q.take(); j != nil; j = q.take() {
		go q.work(j)
	}
}

// work does a job, and then others until there are none.
func (q *Queue) work(j job) {
	var ws *models.Workspace
	space := func() *models.Workspace {
		if ws == nil {
			ws = q.Spaces.Get().(*models.Workspace)
		}
		return ws
	}
	for j != nil {
		j.do(space)
		q.mu.Lock()
		j.settle()
		if j = q.take(); j == nil && ws != nil {
			q.Spaces.Put(ws) // before another goroutine wants one
		}
		q.dispatch()
		q.mu.Unlock()
	}
}

// shortTexts is for how many bytes of texts that are being tokenised a batch waits: milliseconds.
const shortTexts = 1 << 17

// take is the next job, or nil: a page where tokens are wanted, else a batch.
func (q *Queue) take() job {
	free := q.Threads - q.used
	if free == 0 {
		return nil
	}
	if c := q.wanting(); c != nil {
		return q.takePage(c)
	}
	if q.ready == 0 || q.ready < q.enough() && q.tokenising > 0 && q.tokenising <= shortTexts {
		return nil
	}
	return q.takeBatch(free)
}
