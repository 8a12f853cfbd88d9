// One queue for all calls of a pipeline.

package text

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
)

// queue shares a pipeline's threads and batches between its calls. Texts are tokenised a page at
// a time, no further ahead of the computation than keeps it busy; batches take windows of all calls
// of a kind. Goroutines do that, each of which counts as the threads that it computes on; they end
// when there is nothing to do. A call waits, and leaves at once when its context is cancelled.
type queue struct {
	threads     int
	batchTokens int
	spaces      *sync.Pool                // of *models.Workspace
	observe     func(windows, tokens int) // a batch; may be nil

	mu         sync.Mutex
	calls      []*call // that have not ended, the oldest first
	used       int     // threads that are busy
	ready      int     // tokens that wait to be computed
	tokenising int     // bytes of the texts that are being tokenised
	clock      int     // tokens of batches that have ended
	turn       int     // the number of batches
}

// job is what a goroutine does next: a page to tokenise, or a batch to compute.
type job struct {
	threads int
	call    *call // of a page
	texts   []source
	first   int // the number of texts[0]
	bytes   int
	batch   []window
	tokens  int // of the batch
}

// serve does a call's work, beside that of others.
func (q *queue) serve(ctx context.Context, c *call) error {
	if err := ctx.Err(); err != nil || c.size == 0 {
		return err
	}
	c.left, c.done = c.size, make(chan struct{})
	c.stop.Store(int64(c.size))
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

// withdraw ends a call whose results nobody waits for, unless it has ended.
func (q *queue) withdraw(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.ended {
		return false
	}
	q.drop(c, 0)
	q.end(c)
	return true
}

// over reports whether nobody waits for results any more.
func (c *call) over() bool { return c.stop.Load() < int64(c.size) }

// drop takes a call's texts and windows out of the queue. Texts before stop that are being
// tokenised may still be refused.
func (q *queue) drop(c *call, stop int) {
	c.stop.Store(int64(stop))
	q.ready -= c.ready
	c.next, c.ready, c.pages = c.size, 0, nil
}

func (q *queue) end(c *call) {
	if i := slices.Index(q.calls, c); i >= 0 {
		q.calls = slices.Delete(q.calls, i, i+1)
		c.ended = true
		close(c.done)
	}
}

// fail ends a call with an error of the text at, of several errors that of the first text.
func (q *queue) fail(c *call, at int, err error) {
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

// dispatch starts goroutines for all that can be done now.
func (q *queue) dispatch() {
	for j := q.take(); j != nil; j = q.take() {
		go q.work(j)
	}
}

// work does a job, and then others until there are none.
func (q *queue) work(j *job) {
	var ws *models.Workspace
	for j != nil {
		var settle func()
		if j.batch == nil {
			settle = q.tokenise(j)
		} else {
			if ws == nil {
				ws = q.spaces.Get().(*models.Workspace)
			}
			ws.Threads = kernels.Threads(j.threads)
			if q.observe != nil {
				q.observe(len(j.batch), j.tokens)
			}
			settle = q.compute(ws, j.batch)
		}
		q.mu.Lock()
		q.used -= j.threads
		q.clock += j.tokens
		settle()
		if j = q.take(); j == nil && ws != nil {
			q.spaces.Put(ws) // before another goroutine wants one
		}
		q.dispatch()
		q.mu.Unlock()
	}
}

// enough is how many tokens have to wait for batches to be computed side by side, each on one
// thread, which leaves none waiting for another. Fewer batches get all threads together.
func (q *queue) enough() int { return (2*q.threads-1)*q.batchTokens + 1 }

// shortTexts is for how many bytes of texts that are being tokenised a batch waits: milliseconds.
const shortTexts = 1 << 17

// take is the next job, or nil.
func (q *queue) take() *job {
	free := q.threads - q.used
	if free == 0 {
		return nil
	}
	if c := q.wanting(); c != nil {
		return q.page(c)
	}
	enough := q.ready >= q.enough()
	if q.ready == 0 || !enough && q.tokenising > 0 && q.tokenising <= shortTexts {
		return nil
	}
	j := &job{threads: 1}
	next, waiting := q.next()
	room := q.batchTokens
	switch batches := (q.ready + q.batchTokens - 1) / q.batchTokens; {
	case len(q.calls) > 1:
		j.threads, room = q.share(next)
		j.threads = min(j.threads, free)
	case enough:
	case q.used == 0:
		j.threads = free
	default:
		j.threads = max(free/batches, 1)
	}
	before := q.ready
	j.batch = q.batch(room, waiting)
	j.tokens = before - q.ready
	q.used += j.threads
	return j
}

// wanting is the call to tokenise texts of, or nil: the one that is due first, as long as the
// next batch has room for more of it, or if too few tokens wait.
func (q *queue) wanting() *call {
	var idle, any *call // due first, with texts left: of which none are being tokenised, of all
	for _, c := range q.calls {
		if c.next == c.size {
			continue
		}
		if c.encoding == 0 && (idle == nil || c.due < idle.due) {
			idle = c
		}
		if any == nil || c.due < any.due {
			any = c
		}
	}
	if idle != nil {
		before := 0
		for _, c := range q.calls {
			if c.due <= idle.due {
				before += c.ready
			}
		}
		if before < q.batchTokens {
			return idle
		}
	}
	if q.ready < q.enough() {
		return any
	}
	return nil
}

// page is the job to tokenise a call's next texts: few where tokens enough wait, others' then,
// so that many calls do not have many tokens wait. What a call that is alone has in a batch depends
// on its texts only.
func (q *queue) page(c *call) *job {
	most, longest := max(1<<16, 32*q.batchTokens), math.MaxInt // bytes of a page, and of a text as far as they count
	if q.ready >= q.enough() {
		most = q.batchTokens
	}
	if c.splitter.cuts() {
		longest = 8 * c.splitter.limit
	}
	j := &job{threads: 1, call: c, first: c.next}
	for cost := 0; c.next < c.size && cost < most; c.next++ {
		s := c.source(c.next)
		n := len(s.first) + len(s.second) + 4*len(s.ids)
		cost += 16 + min(n, longest)
		j.bytes += n
		j.texts = append(j.texts, s)
	}
	c.encoding++
	q.tokenising += j.bytes
	q.used++
	return j
}

// rows is how many tokens a thread needs for kernels to do nearly as much a second as with many more.
const rows = 64

// mostBatches is how many batches of several calls are computed side by side: each of them reads all weights.
const mostBatches = 8

// next is how many tokens the calls wait for that wait for any, each for its next window, and their number.
func (q *queue) next() (tokens, waiting int) {
	for _, c := range q.calls {
		if len(c.pages) > 0 {
			tokens += c.pages[0][0].tokens()
			waiting++
		}
	}
	return tokens, waiting
}

// share is on how many threads a batch of several calls is computed, and its most tokens. Two batches side by side take
// less time than the same one after the other on twice the threads, and nobody has an answer before the whole batch is
// computed: so each thread gets its own as soon as there are enough tokens, and a batch only a part of what waits, as
// long as kernels are fast with that.
func (q *queue) share(next int) (threads, room int) {
	batches := min((next+2*rows-1)/(2*rows), mostBatches, q.threads)
	threads = q.threads / batches
	return threads, min(q.batchTokens, max(rows*threads, next/(4*batches)))
}

// batch takes the windows of a batch with room for some tokens, while some calls wait: of the call whose next window is
// due first, and then of others of its kind, the older of two. A window is due at its end: its length after the tokens
// that had been computed when its call came, so that short ones go before long ones that came at about the same time, and
// none waits long. A page gives its longest windows first; a call that is alone does not mix pages, which may come in any
// order.
func (q *queue) batch(room, waiting int) []window {
	q.turn++
	var batch []window
	tokens, kind := 0, 0
	for {
		var c *call
		end := 0
		for _, x := range q.calls {
			if len(x.pages) > 0 && x.closed != q.turn && (batch == nil || x.kind == kind) {
				if e := x.due + x.pages[0][0].tokens(); c == nil || e < end {
					c, end = x, e
				}
			}
		}
		if c == nil {
			return batch
		}
		if batch == nil {
			kind = c.kind
		}
		if c.begun.IsZero() {
			c.begun = time.Now()
		}
		w := c.pages[0][0]
		n := w.tokens()
		if batch != nil && tokens+n > room {
			c.closed = q.turn
			continue
		}
		batch = append(batch, w)
		tokens += n
		c.due, c.ready, q.ready = c.due+n*waiting, c.ready-n, q.ready-n
		if c.pages[0] = c.pages[0][1:]; len(c.pages[0]) == 0 {
			c.pages = c.pages[1:]
			if len(q.calls) == 1 {
				c.closed = q.turn
			}
		}
	}
}
