// One queue for all calls of a pipeline.

package text

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// queue shares a pipeline's threads and batches between its calls. Texts are tokenised a page at
// a time, no further ahead of the computation than keeps it busy; batches take windows of all calls
// of a kind. Goroutines do that, each of which counts as the threads that it computes on; they end
// when there is nothing to do. A call waits, and leaves at once when its context is cancelled.
type queue struct {
	threads     int
	batchTokens int
	spaces      *sync.Pool // of *models.Workspace

	mu         sync.Mutex
	calls      []*call // that have not ended, the oldest first
	used       int     // threads that are busy
	ready      int     // tokens that wait to be computed
	tokenising int     // bytes of the texts that are being tokenised
	clock      int     // what the call that leads the latest batch had been served before
	turn       int     // the number of batches
}

// call is one call of a pipeline.
type call struct {
	size     int                                  // the number of texts, at least 1
	source   func(i int) source                   // a text; the queue does not ask once the call has ended
	splitter splitter                             // makes windows of a text
	check    func(*input) error                   // refuses a text; may be nil
	kind     int                                  // calls of a kind share batches
	compute  computation                          // nil: windows are not computed
	finish   func(in *input, results [][]float32) // takes a text's results, one for each window; they are the workspace's

	next     int        // the first text that has not been tokenised, nor is being
	encoding int        // the number of pages that are being tokenised
	pages    [][]window // what waits to be computed; the windows of a page from the longest to the shortest
	ready    int        // tokens in pages
	left     int        // the number of texts without results
	served   int        // tokens computed, from what the clock was when the call began
	closed   int        // the turn in which it gives no more windows
	err      error
	at       int          // the text that err is about
	stop     atomic.Int64 // the first text that nobody wants tokens of; below size once nobody waits for results
	ended    bool
	done     chan struct{} // closed when it ends
}

// computation computes a batch and hands out the result of each of its windows, once nothing can
// fail any more. Results are valid during the call of result only.
type computation func(ws *models.Workspace, in models.Tokens, result func(i int, x []float32)) error

// source is a text, or a pair.
type source struct {
	first, second string
	pair          bool
}

// input is a text of a call with its windows: several of a long text, some of them without tokens.
type input struct {
	source
	number  int // among the call's texts
	windows []*tokenizer.Encoding
	results [][]float32  // of several windows
	left    atomic.Int32 // windows without results
}

// window is what the model gets of a text.
type window struct {
	call *call
	in   *input
	part int // its number among the text's windows
}

func (w window) encoding() *tokenizer.Encoding { return w.in.windows[w.part] }
func (w window) tokens() int                   { return len(w.encoding().IDs) }

// job is what a goroutine does next: a page to tokenise, or a batch to compute.
type job struct {
	threads int
	call    *call // of a page
	texts   []source
	first   int // the number of texts[0]
	bytes   int
	batch   []window
}

// serve does a call's work, beside that of others.
func (q *queue) serve(ctx context.Context, c *call) error {
	if err := ctx.Err(); err != nil || c.size == 0 {
		return err
	}
	c.left, c.done = c.size, make(chan struct{})
	c.stop.Store(int64(c.size))
	q.mu.Lock()
	c.served = q.clock
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
			settle = q.compute(ws, j.batch)
		}
		q.mu.Lock()
		q.used -= j.threads
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
	switch batches := (q.ready + q.batchTokens - 1) / q.batchTokens; {
	case enough:
	case q.used == 0:
		j.threads = free
	default:
		j.threads = max(free/batches, 1)
	}
	j.batch = q.batch()
	q.used += j.threads
	return j
}

// wanting is the call to tokenise texts of, or nil: the one that has been served least, as long as the
// next batch has room for more of it, or if too few tokens wait.
func (q *queue) wanting() *call {
	var idle, any *call // of the least served with texts left: of which none are being tokenised, of all
	for _, c := range q.calls {
		if c.next == c.size {
			continue
		}
		if c.encoding == 0 && (idle == nil || c.served < idle.served) {
			idle = c
		}
		if any == nil || c.served < any.served {
			any = c
		}
	}
	if idle != nil {
		before := 0
		for _, c := range q.calls {
			if c.served <= idle.served {
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
		n := len(s.first) + len(s.second)
		cost += 16 + min(n, longest)
		j.bytes += n
		j.texts = append(j.texts, s)
	}
	c.encoding++
	q.tokenising += j.bytes
	q.used++
	return j
}

// batch takes the windows of a batch: of the call that has been served least, and then of whichever
// of its kind has been, the older of two. A page gives its longest windows first; a call that is
// alone does not mix pages, which may come in any order.
func (q *queue) batch() []window {
	q.turn++
	var batch []window
	tokens, kind := 0, 0
	for {
		var c *call
		for _, x := range q.calls {
			if len(x.pages) > 0 && x.closed != q.turn && (batch == nil || x.kind == kind) && (c == nil || x.served < c.served) {
				c = x
			}
		}
		if c == nil {
			return batch
		}
		if batch == nil {
			kind, q.clock = c.kind, max(q.clock, c.served)
		}
		w := c.pages[0][0]
		n := w.tokens()
		if batch != nil && tokens+n > q.batchTokens {
			c.closed = q.turn
			continue
		}
		batch = append(batch, w)
		tokens += n
		c.served, c.ready, q.ready = c.served+n, c.ready-n, q.ready-n
		if c.pages[0] = c.pages[0][1:]; len(c.pages[0]) == 0 {
			c.pages = c.pages[1:]
			if len(q.calls) == 1 {
				c.closed = q.turn
			}
		}
	}
}

// tokenise does the job of a page, and gives what remains to be done under the lock.
func (q *queue) tokenise(j *job) (settle func()) {
	c := j.call
	var page []window
	finished, tokens, at := 0, 0, 0
	err := caught(func() error {
		for i, s := range j.texts {
			if at = j.first + i; at >= int(c.stop.Load()) {
				return nil
			}
			in, err := c.input(at, s)
			if err != nil {
				return err
			}
			if in.left.Load() == 0 {
				c.finish(in, make([][]float32, len(in.windows)))
				finished++
				continue
			}
			for part := range in.windows {
				if w := (window{c, in, part}); w.tokens() > 0 {
					page = append(page, w)
					tokens += w.tokens()
				}
			}
		}
		slices.SortStableFunc(page, func(a, b window) int { return cmp.Compare(b.tokens(), a.tokens()) })
		return nil
	})
	return func() {
		q.tokenising -= j.bytes
		c.encoding--
		switch {
		case err != nil:
			q.fail(c, at, err)
		case c.err != nil && c.encoding == 0:
			q.end(c)
		case c.over():
		default:
			if len(page) > 0 {
				c.pages = append(c.pages, page)
				c.ready += tokens
				q.ready += tokens
			}
			q.finished(c, finished)
		}
	}
}

// input is a text with its windows.
func (c *call) input(number int, s source) (*input, error) {
	in := &input{source: s, number: number}
	var err error
	if in.windows, err = c.splitter.split(number, s); err != nil {
		return nil, err
	}
	if c.check != nil {
		if err := c.check(in); err != nil {
			return nil, err
		}
	}
	if c.compute == nil {
		return in, nil
	}
	for _, e := range in.windows {
		if len(e.IDs) > 0 {
			in.left.Add(1)
		}
	}
	if len(in.windows) > 1 {
		in.results = make([][]float32, len(in.windows))
	}
	return in, nil
}

func (q *queue) finished(c *call, texts int) {
	if c.left -= texts; c.left == 0 {
		q.end(c)
	}
}

// compute does the job of a batch, and gives what remains to be done under the lock. Where a
// batch of several calls fails, each of them is computed alone, to fail alone.
func (q *queue) compute(ws *models.Workspace, batch []window) (settle func()) {
	done, err := run(ws, batch)
	if err == nil {
		return func() {
			for _, c := range done {
				q.finished(c, 1)
			}
		}
	}
	first := batch[0].call
	others := slices.DeleteFunc(slices.Clone(batch), func(w window) bool { return w.call == first })
	if len(others) == 0 {
		return func() { q.fail(first, 0, err) }
	}
	own := slices.DeleteFunc(batch, func(w window) bool { return w.call != first })
	a, b := q.compute(ws, own), q.compute(ws, others)
	return func() { a(); b() }
}

// run computes a batch. It gives the call of each text that has its results now.
func run(ws *models.Workspace, batch []window) (done []*call, err error) {
	batch = slices.DeleteFunc(slices.Clone(batch), func(w window) bool { return w.call.over() })
	if len(batch) == 0 {
		return nil, nil
	}
	encodings := make([]*tokenizer.Encoding, len(batch))
	for i, w := range batch {
		encodings[i] = w.encoding()
	}
	err = caught(func() error {
		defer ws.Release(ws.Mark())
		return batch[0].call.compute(ws, tokensOf(encodings), func(i int, x []float32) {
			if w := batch[i]; w.in.result(w.call, w.part, x) {
				done = append(done, w.call)
			}
		})
	})
	return done, err
}

// result takes the result of a window, and reports whether it was the last of the text.
func (in *input) result(c *call, part int, x []float32) bool {
	results := [][]float32{x}
	if len(in.windows) > 1 {
		in.results[part] = slices.Clone(x)
		results = in.results
	}
	if in.left.Add(-1) > 0 {
		return false
	}
	c.finish(in, results)
	return true
}

// panicked is a panic on its way to the call that it concerns.
type panicked struct{ value any }

func (*panicked) Error() string { return "panic" }

// caught is f's error, or its panic.
func caught(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v}
		}
	}()
	return f()
}
