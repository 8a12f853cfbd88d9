// Items: inputs that are computed one by one, such as images, on the same replicas as batches.

package queue

import (
	"slices"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
)

// item is an item of a call.
type item struct {
	queue   *Queue
	replica *Replica
	of      *items
	number  int
	threads int
	err     error
}

// takeItem takes the next item, of each call in turn.
func (q *Queue) takeItem(r *Replica) *item {
	waiting := 0
	for _, c := range q.items {
		waiting += c.size - c.next
	}
	all := q.threads()
	c := q.items[0]
	j := &item{queue: q, replica: r, of: c, number: c.next, threads: min(spread(all, all-q.used(), waiting), r.Threads-r.used)}
	c.next++
	c.running++
	r.used += j.threads
	if q.items = q.items[1:]; c.next < c.size {
		q.items = append(q.items, c)
	}
	return j
}

// do computes the item.
func (j *item) do(space func() *models.Workspace) {
	ws := space()
	ws.Threads = kernels.Threads(j.threads)
	j.err = caught(func() error {
		defer ws.Release(ws.Mark())
		return j.of.compute(ws, j.number)
	})
}

// settle records an error, after which no item begins, and ends the call with its last item.
func (j *item) settle() {
	r, c := j.replica, j.of
	r.used -= j.threads
	r.batches++
	c.running--
	if j.err != nil && (c.err == nil || j.number < c.at) {
		c.err, c.at = j.err, j.number
	}
	if c.err != nil || c.ended || c.next == c.size {
		c.end(j.queue)
	}
}

// end prevents further items of the call from beginning, and tells the caller when no item is being
// computed.
func (c *items) end(q *Queue) {
	if i := slices.Index(q.items, c); i >= 0 {
		q.items = slices.Delete(q.items, i, i+1)
	}
	if c.ended = true; c.running > 0 {
		return
	}
	select {
	case <-c.done:
	default:
		close(c.done)
	}
}
