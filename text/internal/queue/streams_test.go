package queue

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text/tokenizer"
)

// TestSharedStreams: a thread gets its own batch when there are enough tokens, and the batch is
// larger the more tokens wait.
func TestSharedStreams(t *testing.T) {
	for _, c := range []struct{ threads, tokens, want, room int }{
		{1, 1, 1, rows}, {1, 1000, 1, 250}, {1, 100_000, 1, 2048},
		{2, 2 * rows, 2, 2 * rows}, {2, 2*rows + 1, 1, rows}, {2, 1600, 1, 200}, {2, 100_000, 1, 2048},
		{3, 6 * rows, 1, rows}, {64, 2 * rows, 64, 2 * rows}, {64, 4 * rows, 32, 2 * rows}, {64, 100_000, 1, 390},
	} {
		w := waiting{threads: c.threads, batchTokens: 2048, tokens: c.tokens, windows: c.tokens, calls: c.tokens, next: c.tokens}
		if threads, room := w.shared(); threads != c.want || room != c.room {
			t.Errorf("%d tokens wait for %d threads: a batch of %d on %d, want %d on %d", c.tokens, c.threads, room, threads, c.room, c.want)
		}
	}
}

// simulated returns what a call of windows takes with the queue's batches, by a model of their
// costs: the time on all threads, in tokens that one thread computes in that time, and the largest
// number of tokens that are computed at the same time. A batch costs each of its threads overhead
// tokens more than it has, and threads that share products gain less the more there are. A
// transformer of six layers in int8 took 2.5 times less time for a text of 256 tokens on 4 threads,
// and 4.0 times less on 16.
func simulated(threads int, lengths []int) (span float64, most int) {
	const overhead = 4
	r := &Replica{Threads: threads}
	q := &Queue{Replicas: []*Replica{r}, BatchTokens: 2048}
	c := &Call{Size: len(lengths), left: len(lengths) + 1}
	q.calls = []*Call{c}
	p := &page{queue: q, call: c}
	for _, n := range lengths {
		p.windows = append(p.windows, window{call: c, in: &Input{Windows: []*tokenizer.Encoding{{IDs: make([]int, n)}}}})
		p.tokens += n
	}
	longestFirst(p.windows)
	c.add(p)
	c.ready, q.ready = p.tokens, p.tokens
	ends := map[*batch]float64{}
	inside := 0
	for q.ready > 0 || len(ends) > 0 {
		for q.ready > 0 && r.used < threads {
			b := q.takeBatch(r)
			n := float64(b.threads)
			ends[b] = span + float64(b.tokens+overhead)*(1+0.2*(n-1))/n
			inside += b.tokens
			most = max(most, inside)
		}
		var first *batch
		for b, end := range ends {
			if first == nil || end < ends[first] {
				first = b
			}
		}
		span = ends[first]
		inside -= first.tokens
		delete(ends, first)
		first.settle()
	}
	return span, most
}

// TestStreamsEndTogether computes the calls of one caller with the model: with many texts the
// threads are busy to the end, and with few texts no simpler way is faster.
func TestStreamsEndTogether(t *testing.T) {
	mixed := make([]int, 256)
	for i := range mixed {
		mixed[i] = 12 + i*i%110
	}
	sum := func(x []int) (n float64) {
		for _, l := range x {
			n += float64(l)
		}
		return n
	}
	var table strings.Builder
	for _, threads := range []int{1, 2, 4, 8, 16, 32, 64} {
		span, most := simulated(threads, mixed)
		busy := sum(mixed) / float64(threads) / span
		fmt.Fprintf(&table, "\n%2d threads: busy %.2f, %d tokens at once", threads, busy, most)
		if busy < 0.88 || threads <= 16 && busy < 0.94 {
			t.Errorf("256 texts keep %d threads busy for %.2f of the time", threads, busy)
		}
		if limit := max(2048, 4*rows*threads) + 121*threads; most > limit {
			t.Errorf("%d tokens are computed at once on %d threads, want at most %d", most, threads, limit)
		}
		for texts := 1; texts <= 2*threads; texts++ {
			for _, n := range []int{16, 60, 250} {
				all := make([]int, texts)
				for i := range all {
					all[i] = n
				}
				span, _ := simulated(threads, all)
				together := (sum(all) + 4) * (1 + 0.2*float64(threads-1)) / float64(threads)
				each := math.Ceil(float64(texts)/float64(threads)) * float64(n+4)
				if best := min(together, each); span > best*1.12+8 {
					t.Errorf("%d texts of %d tokens on %d threads take %.0f, all together %.0f, each by itself %.0f", texts, n, threads, span, together, each)
				}
			}
		}
	}
	t.Log(table.String())
}
