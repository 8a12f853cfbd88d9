package search

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/search/internal/best"
)

// This file searches an index. A job is the search of one segment of vectors for one block of
// queries. Goroutines do jobs one after the other.

// Hit is a vector that a query found.
type Hit struct {
	ID    int64
	Score float32 // the dot product of the rounded vectors; with Binary, of the signs
}

// queryBlock is the largest number of queries that share a pass over a segment.
const queryBlock = 64

// worker is the state of one goroutine.
type worker struct {
	tops   []best.Heap // of each query
	scores []float32   // [queryBlock, segment]
}

// snapshot is a snapshot of the index for one search.
type snapshot struct {
	count   int
	ids     rows[int64]
	vectors view
	again   rowView
	sieve   best.Sieve
}

func (x *Index) snapshot() snapshot {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := snapshot{count: x.count, ids: x.ids, vectors: x.vectors.view(), sieve: best.Sieve{Removed: x.removed}}
	if x.again != nil {
		s.again = x.again.view()
	}
	return s
}

// Search finds for each query the k vectors with the largest scores, the best first, or all if the
// index has fewer. Each query has the dimension of the index and finite numbers. A vector whose
// score is not a number, as after an overflow, is not found. The error is context.Cause(ctx) if ctx
// is done; other errors are about k or a query.
//
// Scores do not depend on the other queries of the call, nor on the tier.
func (x *Index) Search(ctx context.Context, vectors [][]float32, k int) ([][]Hit, error) {
	return x.SearchWhere(ctx, vectors, k, nil)
}

// SearchWhere is Search among the vectors with an id for which where is true; nil is all. [WithID]
// makes such a condition from ids. Several goroutines call where at a time, and only for vectors
// with a high enough score; it must always return the same for the same id.
func (x *Index) SearchWhere(ctx context.Context, vectors [][]float32, k int, where func(id int64) bool) ([][]Hit, error) {
	if k < 1 {
		return nil, check.Errorf(fault.ErrInput, "k = %d, want at least 1", k)
	}
	if err := x.matched(); err != nil {
		return nil, err
	}
	for i, v := range vectors {
		if err := x.check(v, math.MaxFloat32); err != nil {
			return nil, check.Errorf(fault.ErrInput, "query %d: %w", i, err)
		}
	}
	s := x.snapshot()
	s.sieve.Where = where
	candidates := min(k, s.count)
	if s.again != nil {
		candidates = s.count
		if o := x.options.Oversample; k <= s.count/o {
			candidates = k * o
		}
	}
	q := x.prepare(vectors)
	workers, err := x.run(ctx, s, q, candidates)
	if err != nil {
		return nil, err
	}
	hits := make([][]Hit, q.n)
	tops := make([]*best.Heap, len(workers))
	for i := range hits {
		for j := range workers {
			tops[j] = &workers[j].tops[i]
		}
		found := best.Of(candidates, tops)
		if s.again != nil {
			found = rescore(found, vectors[i], s.again)
		}
		hits[i] = make([]Hit, min(k, len(found)))
		for j := range hits[i] {
			hits[i][j] = Hit{found[j].ID, found[j].Score}
		}
	}
	for _, w := range workers {
		pool.Put(w)
	}
	return hits, nil
}

// prepare converts queries to the forms that the index needs.
func (x *Index) prepare(vectors [][]float32) *queries {
	q := &queries{n: len(vectors), k: x.dim}
	switch x.options.Precision {
	case Binary:
		q.signs = make([]int32, signWords(x.dim)*q.n)
		for i, v := range vectors {
			signs(q.signs[i:], q.n, v)
		}
		return q
	case Int8:
		q.k = padded(x.dim)
	}
	q.vectors = make([]float32, q.n*q.k)
	for i, v := range vectors {
		copy(q.vectors[i*q.k:], v)
	}
	return q
}

var pool = sync.Pool{New: func() any { return new(worker) }}

// run searches all vectors, and returns the results of each goroutine.
func (x *Index) run(ctx context.Context, s snapshot, q *queries, k int) ([]*worker, error) {
	segments := (s.count + segment - 1) / segment
	blocks := (q.n + queryBlock - 1) / queryBlock
	threads := x.options.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	jobs := segments * blocks
	workers := make([]*worker, max(1, min(threads, jobs)))
	var next atomic.Int64
	work := func(w *worker) {
		for ctx.Err() == nil {
			job := int(next.Add(1)) - 1
			if job >= jobs {
				return
			}
			w.do(s, q, job/blocks, job%blocks)
		}
	}
	for i := range workers {
		workers[i] = pool.Get().(*worker)
		workers[i].reset(q.n, k)
	}
	var group sync.WaitGroup
	for i := range workers[1:] {
		group.Go(func() { work(workers[1+i]) })
	}
	work(workers[0])
	group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return workers, nil
}

func (w *worker) reset(n, k int) {
	w.scores = slices.Grow(w.scores[:0], min(n, queryBlock)*segment)[:min(n, queryBlock)*segment]
	w.tops = slices.Grow(w.tops[:0], n)[:n]
	for i := range w.tops {
		w.tops[i].Reset(k)
	}
}

// do does one job.
func (w *worker) do(s snapshot, q *queries, part, block int) {
	from := block * queryBlock
	to := min(q.n, from+queryBlock)
	s.vectors.scores(w.scores, part, q, from, to)
	var ids []int64
	if s.ids.len() > 0 {
		ids = s.ids.part(part)
	}
	n := min(segment, s.count-part*segment)
	for i := from; i < to; i++ {
		w.tops[i].Take(w.scores[(i-from)*segment:][:n], part*segment, ids, &s.sieve)
	}
}

// rescore scores candidates again and orders them.
func rescore(found []best.Candidate, query []float32, rows rowView) []best.Candidate {
	x := make([]float32, len(query))
	again := found[:0]
	for _, c := range found {
		if c.Score = rows.dot(query, c.At, x); c.Score == c.Score {
			again = append(again, c)
		}
	}
	slices.SortFunc(again, best.Candidate.Compare)
	return again
}
