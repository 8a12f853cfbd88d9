package text

import (
	"sync"
	"testing"
	"time"
)

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
