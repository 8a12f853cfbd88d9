// Streams: batches that are computed side by side.

package queue

import "github.com/avoformer/avoformer/internal/replica"

// A thread that computes a batch by itself waits for no other: two batches side by side take less time than one after the
// other on twice the threads. So texts are shared out among the threads first, and the rows of products only where there
// are fewer texts than threads.

// rows is how many tokens of a batch a thread needs to do nearly as much a second as with many more. With a quarter of
// them it does a tenth less.
const rows = 64

// waiting is what waits to be computed.
type waiting struct {
	threads, batchTokens int // of the queue
	tokens, windows      int
	calls                int // that wait for windows
	next                 int // tokens of the next window of each of them
}

// waits counts what waits to be computed.
func (q *Queue) waits() waiting {
	w := waiting{threads: q.threads(), batchTokens: q.BatchTokens, tokens: q.ready}
	for _, c := range q.calls {
		if len(c.pages) > 0 {
			w.next += c.pages[0][0].tokens()
			w.calls++
		}
		for _, page := range c.pages {
			w.windows += len(page)
		}
	}
	return w
}

// most returns the most tokens of a batch of one call.
func (w waiting) most() int { return replica.StreamTokens(w.threads, w.batchTokens) }

// single is on how many of the free threads the next batch is computed while there is one call, and its most tokens. The call
// ends with its last batch, so all threads are to end at the same time: a batch has half of a thread's share of what is
// left, so that the last ones are small.
func (w waiting) single(free int) (threads, room int) {
	if w.threads == 1 {
		return 1, w.most()
	}
	streams := min(w.threads, w.windows, max(1, w.tokens/(rows/4)))
	if streams < w.threads { // threads share the rows of a batch
		return spread(w.threads, free, streams), min(w.batchTokens, (w.tokens+streams-1)/streams)
	}
	threads, room = 1, min(w.most(), max(w.tokens/(2*w.threads), min(rows/2, w.tokens/w.threads)))
	if w.tokens/w.windows > room/2 { // one window after another
		threads = spread(w.threads, free, w.windows)
	}
	return threads, room
}

// spread is on how many of the free threads the next of some parts is computed that take about the same time. With one after
// another on each thread, some threads would be idle in the end: the parts that are too many for that go first, each on
// several threads.
func spread(threads, free, parts int) int {
	if parts < threads {
		return (free + parts - 1) / parts
	}
	if rest := parts % threads; rest > 0 && free == threads && parts < 4*threads {
		return threads / rest
	}
	return 1
}

// shared is on how many threads the next batch of several calls is computed, and its most tokens. No text has its result
// before the whole batch is computed: so each thread gets a batch of its own as soon as there are enough tokens, and
// a batch takes only a part of what waits, as long as kernels are fast with that.
func (w waiting) shared() (threads, room int) {
	streams := min((w.tokens+2*rows-1)/(2*rows), w.windows, w.threads)
	if threads = w.threads / streams; threads > 1 {
		return threads, min(w.batchTokens, (w.tokens+streams-1)/streams)
	}
	return 1, min(w.batchTokens, max(rows, w.next/(4*streams)))
}

// enough is how many tokens keep all threads busy while more are tokenised.
func (q *Queue) enough() int {
	threads := q.threads()
	return 2 * threads * waiting{threads: threads, batchTokens: q.BatchTokens}.most()
}
