package queue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// gate is a queue whose computation waits for permission before each batch and records the contents
// of the batch. It needs a bubble of synctest.
type gate struct {
	*Queue
	splitter windows.Splitter
	begun    chan []int // numbers of tokens of a batch's windows
	leave    chan error
	calls    sync.WaitGroup
}

func newGate(t *testing.T, threads, batchTokens int) *gate {
	t.Helper()
	words, err := tokenizer.Open("../../testdata/embed")
	if err != nil {
		t.Fatal(err)
	}
	q := &Queue{Replicas: []*Replica{{Threads: threads}}, BatchTokens: batchTokens}
	splitter := windows.How{Tokenizer: words.WithPadding(nil).WithTruncation(nil)}.Splitter()
	g := &gate{Queue: q, splitter: splitter, begun: make(chan []int), leave: make(chan error)}
	t.Cleanup(func() {
		g.calls.Wait()
		g.idle(t)
	})
	return g
}

// idle expects the queue to be empty and without goroutines once all goroutines of the bubble wait.
func (g *gate) idle(t *testing.T) {
	t.Helper()
	synctest.Wait()
	if l := g.Load(); l != (Load{}) {
		t.Errorf("without calls: %+v", l)
	}
}

// wordText returns a text of n words, one token each.
func wordText(n int) string { return strings.Repeat("the ", n) }

func (g *gate) compute(_ *models.Workspace, in models.Tokens, result func(int, []float32)) error {
	var lengths []int
	for i := range in.Batch.Len() {
		lengths = append(lengths, in.Batch.Length(i))
	}
	g.begun <- lengths
	if err := <-g.leave; errors.Is(err, errPanic) {
		panic(err)
	} else if err != nil {
		return err
	}
	for i := range in.Batch.Len() {
		result(i, []float32{float32(in.Batch.Length(i))})
	}
	return nil
}

var errPanic, errBatch = errors.New("panic"), errors.New("batch")

// served is how a call ended.
type served struct {
	results []float32
	err     error
	panic   any
}

// start starts a call with texts of the given numbers of words, which have two tokens more, and
// waits until it is in the queue.
func (g *gate) start(ctx context.Context, kind int, words ...int) <-chan served {
	ended := make(chan served, 1)
	results := make([]float32, len(words))
	c := &Call{
		Size:     len(words),
		Text:     func(i int) windows.Text { return windows.Text{First: wordText(words[i])} },
		Splitter: g.splitter,
		Kind:     kind,
		Compute:  g.compute,
		Finish:   func(in *Input, r [][]float32) { results[in.Number] = r[0][0] },
	}
	g.calls.Go(func() {
		s := served{results: results}
		defer func() {
			s.panic = recover()
			ended <- s
		}()
		s.err = g.Do(ctx, c)
	})
	synctest.Wait()
	return ended
}

// step lets a batch end after it has begun, and returns the lengths of its windows.
func (g *gate) step(err error) []int {
	lengths := <-g.begun
	g.leave <- err
	return lengths
}

// wordCounts returns n texts of the given number of words.
func wordCounts(n, words int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = words
	}
	return all
}

func sum(lengths []int) int {
	n := 0
	for _, l := range lengths {
		n += l
	}
	return n
}

// TestQueueFair has calls come during the computation of a long one: each has its share of the next
// batch of its own kind, or of the one after.
func TestQueueFair(t *testing.T) { synctest.Test(t, queueFair) }

func queueFair(t *testing.T) {
	ctx := context.Background()
	g := newGate(t, 1, 100)
	long := g.start(ctx, 0, wordCounts(100, 8)...) // ten batches of ten windows
	g.begunBatch(t, 10)
	var short []<-chan served
	for range 4 {
		short = append(short, g.start(ctx, 0, 3))
	}
	other := g.start(ctx, 1, 2, 4)
	g.leave <- nil
	next := g.step(nil) // the four, and the rest of the long call's windows; not more than kernels need
	if sum(next) > rows || len(next) != 4+4 {
		t.Errorf("a batch of %v, want four windows of 5 tokens and four of 10", next)
	}
	if next := g.step(nil); len(next) != 2 || sum(next) != 4+6 {
		t.Errorf("a batch of %v after that, want the two of 4 and 6 tokens of another kind", next)
	}
	for _, s := range short {
		if got := <-s; got.err != nil || got.results[0] != 5 {
			t.Errorf("a short call ended with %v", got)
		}
	}
	if got := <-other; got.err != nil || got.results[0] != 4 || got.results[1] != 6 {
		t.Errorf("the call of another kind ended with %v", got)
	}
	for left := 100 - 10 - 4; left > 0; {
		left -= len(g.step(nil))
	}
	if got := <-long; got.err != nil || got.results[99] != 10 {
		t.Errorf("the long call ended with %v", got.err)
	}
}

// begunBatch waits until a batch of the given number of windows has begun.
func (g *gate) begunBatch(t *testing.T, windows int) {
	t.Helper()
	if lengths := <-g.begun; len(lengths) != windows {
		t.Errorf("a batch of %v, want %d windows", lengths, windows)
	}
}

// TestQueueShares expects the same number of tokens for two long calls that came one after the
// other, whatever the lengths of their windows.
func TestQueueShares(t *testing.T) { synctest.Test(t, queueShares) }

func queueShares(t *testing.T) {
	ctx := context.Background()
	g := newGate(t, 1, 120)
	a := g.start(ctx, 0, wordCounts(60, 38)...) // windows of 40 tokens
	g.begunBatch(t, 3)
	b := g.start(ctx, 0, wordCounts(400, 4)...) // of 6
	g.leave <- nil
	tokens := map[int]int{}
	for range 12 {
		for _, n := range g.step(nil) {
			tokens[n] += n
		}
	}
	if d := tokens[40] - tokens[6]; d < -240 || d > 240 {
		t.Errorf("one call got %d tokens, the other %d", tokens[40], tokens[6])
	}
	for synctest.Wait(); len(a)+len(b) < 2; synctest.Wait() {
		g.step(nil)
	}
}

// TestQueueCancel cancels a call during the computation of one of its batches: the call returns,
// its other windows are never computed, and those of another call are.
func TestQueueCancel(t *testing.T) { synctest.Test(t, queueCancel) }

func queueCancel(t *testing.T) {
	g := newGate(t, 1, 100)
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := g.start(ctx, 0, wordCounts(1000, 8)...)
	g.begunBatch(t, 10)
	stays := g.start(context.Background(), 0, 3, 3)
	cause := errors.New("cause")
	cancel(cause)
	if got := <-gone; !errors.Is(got.err, cause) {
		t.Errorf("a cancelled call ended with %v", got.err)
	}
	g.leave <- nil
	if next := g.step(nil); len(next) != 2 || sum(next) != 10 {
		t.Errorf("a batch of %v, want the two windows of the call that was not cancelled", next)
	}
	if got := <-stays; got.err != nil {
		t.Error(got.err)
	}
}

// TestQueueFails fails a batch of two calls, and then that of one of them.
func TestQueueFails(t *testing.T) { synctest.Test(t, queueFails) }

func queueFails(t *testing.T) {
	for _, failure := range []error{errBatch, errPanic} {
		g := newGate(t, 1, 100)
		ctx := context.Background()
		first := g.start(ctx, 0, 20)
		g.begunBatch(t, 1)
		bad, good := g.start(ctx, 0, 3, 3, 3), g.start(ctx, 0, 4, 4)
		g.leave <- nil
		if got := <-first; got.err != nil {
			t.Error(got.err)
		}
		if next := g.step(failure); len(next) != 5 {
			t.Errorf("a batch of %v, want both calls", next)
		}
		if next := g.step(failure); len(next) != 3 {
			t.Errorf("a batch of %v, want one of the calls", next)
		}
		if next := g.step(nil); len(next) != 2 {
			t.Errorf("a batch of %v, want the other call", next)
		}
		switch got := <-bad; {
		case errors.Is(failure, errPanic):
			if got.panic != any(failure) {
				t.Errorf("panic %v, error %v, want the panic", got.panic, got.err)
			}
		case !errors.Is(got.err, failure) || got.panic != nil:
			t.Errorf("error %v, panic %v, want the error", got.err, got.panic)
		}
		if got := <-good; got.err != nil || got.panic != nil || got.results[1] != 6 {
			t.Errorf("the other call ended with %v", got)
		}
		g.calls.Wait()
		g.idle(t)
	}
}

// TestQueueThreads counts the threads of batches: with enough texts for all threads they have one
// each, fewer texts share them.
func TestQueueThreads(t *testing.T) { synctest.Test(t, queueThreads) }

func queueThreads(t *testing.T) {
	for _, c := range []struct{ threads, texts, want int }{{1, 1, 1}, {1, 90, 1}, {2, 1, 2}, {2, 40, 1}, {4, 80, 1}, {4, 8, 1}, {4, 4, 2}, {4, 1, 4}} {
		g := newGate(t, c.threads, 100)
		var mu sync.Mutex
		first, busy := 0, 0
		call := &Call{
			Size: c.texts, Text: func(int) windows.Text { return windows.Text{First: wordText(8)} }, Splitter: g.splitter,
			Compute: func(ws *models.Workspace, in models.Tokens, result func(int, []float32)) error {
				mu.Lock()
				if busy += int(ws.Threads); busy > c.threads {
					t.Errorf("%d threads are busy, want at most %d", busy, c.threads)
				}
				if first == 0 {
					first = int(ws.Threads)
				}
				mu.Unlock()
				time.Sleep(time.Millisecond)
				for i := range in.Batch.Len() {
					result(i, nil)
				}
				mu.Lock()
				busy -= int(ws.Threads)
				mu.Unlock()
				return nil
			},
			Finish: func(*Input, [][]float32) {},
		}
		if err := g.Do(context.Background(), call); err != nil {
			t.Fatal(err)
		}
		if first != c.want { // some of the last ones find free threads
			t.Errorf("%d texts on %d threads: %d for the first batch, want %d", c.texts, c.threads, first, c.want)
		}
	}
}

// TestQueueAhead checks the limits on waiting tokens, and on texts that are tokenised for a
// cancelled call.
func TestQueueAhead(t *testing.T) { synctest.Test(t, queueAhead) }

func queueAhead(t *testing.T) {
	g := newGate(t, 2, 100)
	ctx, cancel := context.WithCancel(context.Background())
	var all []<-chan served
	for range 20 {
		all = append(all, g.start(ctx, 0, wordCounts(20_000, 8)...))
	}
	<-g.begun
	<-g.begun
	g.mu.Lock()
	ready, asked := g.ready, 0
	for _, c := range g.Queue.calls {
		asked = max(asked, c.next)
	}
	g.mu.Unlock()
	const page = 1 << 16 / (16 + 32) * 10 // tokens of a page
	if ready > 3*page {
		t.Errorf("%d tokens wait, a page has %d", ready, page)
	}
	if asked > 4*page/10 {
		t.Errorf("%d texts of a call are tokenised, a page has %d", asked, page/10)
	}
	cancel()
	for _, c := range all {
		if got := <-c; !errors.Is(got.err, context.Canceled) {
			t.Errorf("error %v, want that of the context", got.err)
		}
	}
	g.leave <- nil
	g.leave <- nil
}

// TestQueueOrder: batches of several calls are small, and larger the more tokens wait. Short texts
// go before long ones that came at about the same time, but not before those that came long ago.
func TestQueueOrder(t *testing.T) { synctest.Test(t, queueOrder) }

func queueOrder(t *testing.T) {
	ctx := context.Background()
	g := newGate(t, 1, 2048)
	var all []<-chan served
	start := func(words int) { all = append(all, g.start(ctx, 0, words)) }
	want := func(lengths ...int) {
		t.Helper()
		if got := g.step(nil); !slices.Equal(got, lengths) {
			t.Errorf("a batch of %v, want %v", got, lengths)
		}
	}
	start(298)
	g.begunBatch(t, 1)
	start(198)
	start(3)
	g.leave <- nil
	g.begunBatch(t, 1) // the short one
	start(4)           // is due later than the long one
	g.leave <- nil
	want(200)
	g.begunBatch(t, 1)
	for range 40 {
		start(98)
	}
	g.leave <- nil
	for left := 40; left > 0; {
		got := g.step(nil)
		// No more than batchTokens are tokenised.
		if n := max(1, min(left, 21)/4); len(got) != n {
			t.Errorf("%d of %d texts in a batch, want %d", len(got), left, n)
		}
		left -= len(got)
	}
	for _, ended := range all {
		if got := <-ended; got.err != nil {
			t.Error(got.err)
		}
	}
}
