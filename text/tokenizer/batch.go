package tokenizer

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Many texts at a time.

// EncodeBatch encodes texts in parallel on all processors. It pads them to a common length if the
// tokenizer pads.
func (t *Tokenizer) EncodeBatch(texts []string, opts Options) ([]*Encoding, error) {
	return t.batch(len(texts), &opts, func(i int) (string, *string) { return texts[i], nil })
}

// EncodePairs encodes pairs of texts in parallel, like [Tokenizer.EncodeBatch].
func (t *Tokenizer) EncodePairs(pairs [][2]string, opts Options) ([]*Encoding, error) {
	return t.batch(len(pairs), &opts, func(i int) (string, *string) { return pairs[i][0], &pairs[i][1] })
}

func (t *Tokenizer) batch(n int, opts *Options, get func(i int) (string, *string)) ([]*Encoding, error) {
	out := make([]*Encoding, n)
	errs := make([]error, n)
	var next atomic.Int64
	worker := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			first, second := get(i)
			out[i], errs[i] = t.unpadded(first, second, opts)
		}
	}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		group.Go(worker)
	}
	worker()
	group.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("text %d: %w", i, err)
		}
	}
	if t.padding != nil {
		if err := t.padding.pad(out, opts); err != nil {
			return nil, err
		}
	}
	return out, nil
}
