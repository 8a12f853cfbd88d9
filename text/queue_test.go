package text

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/text/internal/queue"
)

// idle waits until a pipeline has no goroutine, and wants its queue empty.
func (e *Embedder) idle(t *testing.T) {
	t.Helper()
	for range 2000 {
		if l := e.queue.Load(); l.Threads == 0 {
			if l != (queue.Load{}) {
				t.Errorf("no thread is busy, and there is %+v", l)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("threads are busy without calls")
}

// TestQueueErrors gives calls a text each that is refused, beside calls without.
func TestQueueErrors(t *testing.T) {
	e, err := OpenEmbedder("testdata/embed", Options{Long: LongRefuse, BatchTokens: 64, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	long := wordText(200)
	texts := make([]string, 5000) // several pages
	for i := range texts {
		texts[i] = wordText(1 + i%7)
	}
	texts[1999], texts[4000] = long, long
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := e.Embed(context.Background(), Texts(texts...), EmbedOptions{}); !errors.Is(err, fault.ErrTooLong) || !strings.Contains(err.Error(), "text 1999 ") {
				t.Errorf("error %v, want a fault.ErrTooLong of text 1999", err)
			}
		})
		group.Go(func() {
			if _, err := e.Embed(context.Background(), Texts(texts[:300]...), EmbedOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	e.idle(t)
}

// alone embeds texts one by one.
func (e *Embedder) alone(t *testing.T, texts []string) [][]float32 {
	t.Helper()
	out := make([][]float32, len(texts))
	for i := range texts {
		y, err := outputs(e.Embed(context.Background(), Texts(texts[i:i+1]...), EmbedOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		out[i] = y[0]
	}
	return out
}

func sameBits(t *testing.T, what string, got, want [][]float32) {
	t.Helper()
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("%s: other bits of text %d", what, i)
		}
	}
}

// TestQueueBits wants the bits that each text has by itself, on any number of threads and whatever
// calls come together.
func TestQueueBits(t *testing.T) {
	ctx := context.Background()
	texts := make([]string, 600) // several pages
	for i := range texts {
		texts[i] = wordText(i * i % 23)
	}
	for _, folder := range []string{"embed", "embed-prompt", "embed-last"} { // one has a dense layer, one texts of one token
		var want [][]float32
		for threads := 1; threads <= 3; threads++ {
			e, err := OpenEmbedder("testdata/"+folder, Options{Threads: threads, BatchTokens: 256})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = e.alone(t, texts)
			}
			got, err := outputs(e.Embed(ctx, Texts(texts...), EmbedOptions{}))
			if err != nil {
				t.Fatal(err)
			}
			sameBits(t, fmt.Sprint(folder, " on ", threads, " threads"), got, want)
			var group sync.WaitGroup
			for call := range 6 {
				group.Go(func() {
					got, err := outputs(e.Embed(ctx, Texts(texts[call*100:]...), EmbedOptions{}))
					if err != nil {
						t.Error(err)
						return
					}
					for i, v := range got {
						if !slices.Equal(v, want[call*100+i]) {
							t.Errorf("%s: text %d has other bits together with others", folder, call*100+i)
							return
						}
					}
				})
			}
			group.Wait()
			e.idle(t)
		}
	}
}

// TestQueuePipelines shares pipelines that share nothing with each other, under the race detector
// too.
func TestQueuePipelines(t *testing.T) {
	ctx := context.Background()
	c, err := OpenClassifier("testdata/classify", Options{Threads: 2, BatchTokens: 40})
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenReranker("testdata/rerank", Options{Threads: 2, BatchTokens: 40})
	if err != nil {
		t.Fatal(err)
	}
	e, err := OpenTokenClassifier("testdata/tokens", Options{Threads: 2, BatchTokens: 40})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"the cat reads the letter", "the dog", "the committee forgets the long question again", "a"}
	var pairs [][2]string
	for _, s := range texts {
		pairs = append(pairs, [2]string{s, texts[0]})
	}
	near := func(a, b float32) bool { return max(a-b, b-a) <= 1e-5 }
	for name, f := range map[string]func(ctx context.Context) ([]string, []float32, error){
		"Classify": func(ctx context.Context) (names []string, scores []float32, err error) {
			all, err := outputs(c.Classify(ctx, Texts(texts...), ClassifyOptions{}))
			for _, l := range slices.Concat(all...) {
				names, scores = append(names, l.Label), append(scores, l.Score)
			}
			return names, scores, err
		},
		"ClassifyPairs": func(ctx context.Context) (names []string, scores []float32, err error) {
			all, err := outputs(c.Classify(ctx, Pairs(pairs...), ClassifyOptions{}))
			for _, l := range slices.Concat(all...) {
				names, scores = append(names, l.Label), append(scores, l.Score)
			}
			return names, scores, err
		},
		"Rank": func(ctx context.Context) (names []string, scores []float32, err error) {
			all, err := outputs(r.Rank(ctx, "the cat", texts, RerankOptions{}))
			for _, l := range all {
				names, scores = append(names, fmt.Sprint(l.Index)), append(scores, l.Score)
			}
			return names, scores, err
		},
		"Entities": func(ctx context.Context) (names []string, scores []float32, err error) {
			all, err := outputs(e.Entities(ctx, texts, EntityOptions{}))
			for _, l := range slices.Concat(all...) {
				names, scores = append(names, fmt.Sprint(l.Label, l.Start, l.End)), append(scores, l.Score)
			}
			return names, scores, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			names, scores, err := f(ctx)
			if err != nil || len(names) == 0 {
				t.Fatal(names, err)
			}
			var group sync.WaitGroup
			for i := range 12 {
				group.Go(func() {
					if i%4 == 3 {
						ctx, cancel := context.WithTimeout(ctx, time.Duration(i)*10*time.Microsecond)
						defer cancel()
						if _, _, err := f(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
							t.Error(err)
						}
						return
					}
					n, s, err := f(ctx)
					if err != nil || !slices.Equal(n, names) || !slices.EqualFunc(s, scores, near) {
						t.Errorf("together with others %v %v, %v, want %v %v", n, s, err, names, scores)
					}
				})
			}
			group.Wait()
		})
	}
}

// TestCancelMany cancels calls of 200,000 texts after 50 ms. They return within 100 ms, and leave
// nothing in the queue nor, once the batch that is being computed ends, a goroutine.
func TestCancelMany(t *testing.T) {
	texts := make([]string, 200_000)
	for i := range texts {
		texts[i] = wordText(20)
	}
	e := miniLM(t, 2, replica.BatchTokens)
	e.pool.Prompts = map[string]string{"query": "the the "}
	if _, err := e.Embed(context.Background(), Texts(texts[:1]...), EmbedOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, embed := range []func(context.Context, []string) ([][]float32, error){embeds(e, ""), embeds(e, "query")} {
		var took time.Duration
		for range 10 { // a machine that is busy with something else may need several
			before := runtime.NumGoroutine()
			ctx, cancel := context.WithCancel(context.Background())
			var cancelled time.Time
			time.AfterFunc(50*time.Millisecond, func() { cancelled = time.Now(); cancel() })
			_, err := embed(ctx, texts)
			took = time.Since(cancelled)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v, want context.Canceled", err)
			}
			e.idle(t)
			if after := runtime.NumGoroutine(); after > before+1 { // that of AfterFunc
				t.Errorf("%d goroutines before a call, %d after it", before, after)
			}
			if took <= 100*time.Millisecond {
				break
			}
		}
		if took > 100*time.Millisecond {
			t.Errorf("a cancelled call returned after %v", took)
		}
	}
}

// peak returns the most bytes of the heap that are in use while f runs, beyond those before. It
// runs until it has been looked at often enough.
func peak(f func()) int {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() int {
		runtime.GC()
		metrics.Read(sample)
		return int(sample[0].Value.Uint64())
	}
	for range 5 { // what earlier tests left goes with its finalizers and pools, which takes more than one collection
		read()
		time.Sleep(10 * time.Millisecond)
	}
	before, most := read(), 0
	var looks atomic.Int32
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				most = max(most, read())
				looks.Add(1)
			}
		}
	}()
	for looks.Load() < 10 {
		f()
	}
	close(stop)
	<-stopped
	return most - before
}

// together calls Embed for texts so many times at once.
func together(t testing.TB, e *Embedder, calls int, texts []string) {
	var group sync.WaitGroup
	for range calls {
		group.Go(func() {
			if _, err := e.Embed(context.Background(), Texts(texts...), EmbedOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// TestQueueMemory wants no more memory of many calls than of two, except for what they return.
func TestQueueMemory(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("takes seconds")
	}
	e := miniLM(t, 2, 32)
	texts := repeat(4, func(int) int { return 30 })
	var two, many int
	for range 3 { // what else the process does is measured with it: a queue that lets calls through fails each time
		two = peak(func() { together(t, e, 2, texts) })
		many = peak(func() { together(t, e, 50, texts) })
		t.Logf("two calls %.1f MB, 50 calls %.1f MB", float64(two)/1e6, float64(many)/1e6)
		if float64(many) <= 1.3*float64(two) {
			return
		}
	}
	t.Errorf("50 calls take %d bytes, two %d", many, two)
}

// TestQueueWait: Counts tell how long a call waited while another's batch was computed.
func TestQueueWait(t *testing.T) {
	const takes = 30 * time.Millisecond
	begun := make(chan struct{})
	first := sync.OnceFunc(func() {
		close(begun)
		time.Sleep(takes)
	})
	e, err := OpenEmbedder("testdata/embed", Options{Threads: 1, OnBatch: func(int, int) { first() }})
	if err != nil {
		t.Fatal(err)
	}
	embed := func() time.Duration {
		_, n, err := counted(e.Embed(t.Context(), Texts("hello world"), EmbedOptions{}))
		if err != nil {
			t.Error(err)
		}
		return n.Wait
	}
	done := make(chan time.Duration)
	began := time.Now()
	go func() { done <- embed() }()
	<-begun
	late := time.Now()
	wait := embed()
	if total := time.Since(late); wait < takes/2 || wait > total {
		t.Errorf("a call waited %v of %v, want nearly %v", wait, total, takes)
	}
	if wait := <-done; wait <= 0 || wait > late.Sub(began) {
		t.Errorf("the first call waited %v", wait)
	}
	if _, n, err := counted(e.Embed(t.Context(), nil, EmbedOptions{})); err != nil || n.Wait != 0 {
		t.Errorf("no inputs: %v, %v", n.Wait, err)
	}
}
