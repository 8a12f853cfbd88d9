// Streams: batches that are computed concurrently.

package queue

import "github.com/avoformer/avoformer/internal/replica"

// A thread that computes its own batch waits for no other thread: two batches side by side take
// less time than one after the other on twice the threads. Therefore texts are first distributed
// among the threads, and threads share the rows of products only if there are fewer texts than
// threads.

// rows is the number of tokens of a batch at which a thread computes nearly as many per second as
// with many more. With a quarter of them it computes a tenth less.
const rows = 64

// waiting describes the windows that wait to be computed.
type waiting struct {
	threads, batchTokens int // of the queue
	tokens, windows      int
	calls                int // that wait for windows
	next                 int // total tokens of the next window of each of these calls
}

// waits counts the windows that wait to be computed.
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

// most returns the largest number of tokens of a batch of one call.
func (w waiting) most() int { return replica.StreamTokens(w.threads, w.batchTokens) }

// single returns how many of the free threads compute the next batch if there is only one call, and
// the batch's most tokens. The call ends with its last batch, so all threads should finish at the
// same time. A batch has half of a thread's share of the remaining tokens, which makes the last
// batches small.
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

// spread returns how many of the free threads compute the next one of parts that take about the
// same time. With one part after another on each thread, some threads would be idle at the end. The
// parts in excess of a multiple of threads therefore go first, each on several threads.
func spread(threads, free, parts int) int {
	if parts < threads {
		return (free + parts - 1) / parts
	}
	if rest := parts % threads; rest > 0 && free == threads && parts < 4*threads {
		return threads / rest
	}
	return 1
}

// shared returns how many threads compute the next batch of several calls, and the batch's most
// tokens. No text has its result before the whole batch is computed. Therefore each thread gets its
// own batch if there are enough tokens, and a batch takes only a part of the waiting tokens, as
// long as that many keep kernels fast.
func (w waiting) shared() (threads, room int) {
	streams := min((w.tokens+2*rows-1)/(2*rows), w.windows, w.threads)
	if threads = w.threads / streams; threads > 1 {
		return threads, min(w.batchTokens, (w.tokens+streams-1)/streams)
	}
	return 1, min(w.batchTokens, max(rows, w.next/(4*streams)))
}

// enough returns the number of tokens that keeps all threads busy while more are tokenised.
func (q *Queue) enough() int {
	threads := q.threads()
	return 2 * threads * waiting{threads: threads, batchTokens: q.BatchTokens}.most()
}
