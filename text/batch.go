// Batches without padding.

package text

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// batches puts windows into batches of up to the options' number of tokens,
// the longest first: what a batch needs of memory is known with the first, and
// the last ones are quick. Windows without tokens are left out.
func (f *folder) batches(all []window) [][]window {
	sorted := slices.DeleteFunc(slices.Clone(all), func(w window) bool { return w.tokens() == 0 })
	slices.SortStableFunc(sorted, func(a, b window) int { return cmp.Compare(b.tokens(), a.tokens()) })
	var out [][]window
	start, tokens := 0, 0
	for i, w := range sorted {
		if i > start && tokens+w.tokens() > f.batchTokens {
			out = append(out, sorted[start:i])
			start, tokens = i, 0
		}
		tokens += w.tokens()
	}
	if start < len(sorted) {
		out = append(out, sorted[start:])
	}
	return out
}

// tokensOf is a batch as models take it.
func tokensOf(batch []window) models.Tokens {
	lengths := make([]int, len(batch))
	types := false
	in := models.Tokens{}
	for i, w := range batch {
		lengths[i] = w.tokens()
		in.IDs = append(in.IDs, w.encoding.IDs...)
		types = types || slices.ContainsFunc(w.encoding.TypeIDs, func(t int) bool { return t != 0 })
	}
	if types {
		for _, w := range batch {
			in.Types = append(in.Types, w.encoding.TypeIDs...)
		}
	}
	in.Batch = transformer.Ragged(lengths...)
	return in
}

// run calls compute for each batch, until ctx is cancelled or one fails. Many
// batches are computed side by side, each on one thread, which leaves none
// waiting for another; few of them on all threads together.
func (f *folder) run(ctx context.Context, all []window, compute func(ws *models.Workspace, batch []window) error) error {
	batches := f.batches(all)
	workers, each := 1, f.threads
	if n := int(f.threads); n > 1 && len(batches) >= 2*n {
		workers, each = n, 1
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	work := func() {
		ws := f.workspace(each)
		defer f.pool.Put(ws)
		for i := int(next.Add(1)) - 1; i < len(batches); i = int(next.Add(1)) - 1 {
			if ctx.Err() != nil {
				return
			}
			if err := compute(ws, batches[i]); err != nil {
				cancel(err)
				return
			}
		}
	}
	var group sync.WaitGroup
	for range workers - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
	return context.Cause(ctx)
}

func (f *folder) workspace(threads kernels.Threads) *models.Workspace {
	ws := f.pool.Get().(*models.Workspace)
	ws.Threads = threads
	return ws
}
