// Vectors one by one, as they are finished.

package text

import (
	"context"
	"iter"
	"sync"

	"github.com/avoformer/avoformer/text/internal/queue"
)

// Embedded is the vector of one of the inputs of [Embedder.EmbedEach].
type Embedded struct {
	Number int       // of the input, from 0
	Vector []float32 // of Dim elements; it belongs to the caller
	Tokens int       // in all windows of the input
	Cut    bool      // as in Counts
}

// EmbedEach returns the vectors of Embed one by one, each as soon as it is finished. Their order is
// that in which they are computed: texts of like lengths together. An error is the last that the
// iterator yields. Where ctx ends, the vectors before it are valid, and no further text is
// computed; the same holds for a loop that is left.
func (e *Embedder) EmbedEach(ctx context.Context, inputs []Input, o EmbedOptions) iter.Seq2[Embedded, error] {
	return func(yield func(Embedded, error) bool) {
		prompt, limit, err := e.prompt(o.Prompt)
		if err != nil {
			yield(Embedded{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		finished := &vectors{added: make(chan struct{}, 1)}
		done := make(chan struct{})
		var panicked any
		go func() {
			defer close(done)
			defer func() { panicked = recover() }()
			_, err = e.embedTo(ctx, prompt, inputs, limit, o, finished.add)
		}()
		defer func() {
			cancel()
			if <-done; panicked != nil {
				panic(panicked)
			}
		}()
		for ended := false; !ended; {
			select {
			case <-finished.added:
			case <-done:
				ended = true
			}
			for _, v := range finished.take() {
				if !yield(v, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(Embedded{}, err)
		}
	}
}

// vectors holds those that are finished until the caller takes them, so that no thread waits for
// the caller.
type vectors struct {
	mu    sync.Mutex
	list  []Embedded
	added chan struct{} // has room for one
}

func (f *vectors) add(in *queue.Input, vector []float32) {
	v := Embedded{Number: in.Number, Vector: vector}
	for _, w := range in.Windows {
		v.Tokens += len(w.IDs)
		v.Cut = v.Cut || w.Cut > 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, v)
	select {
	case f.added <- struct{}{}:
	default:
	}
}

func (f *vectors) take() []Embedded {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.list
	f.list = nil
	return list
}
