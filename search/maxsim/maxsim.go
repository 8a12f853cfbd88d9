// Package maxsim finds, among texts with a vector for each token, those that match a query best by
// late interaction, as ColBERT does (Khattab and Zaharia, 2020, "ColBERT: Efficient and Effective
// Passage Search via Contextualized Late Interaction over BERT"). The vectors are those of
// text.Embedder.EmbedMultiVector.
//
//	index, err := maxsim.New(e.MultiVectorDim(), maxsim.Options{})
//	err = index.Add(nil, documents)                       // ids are 0, 1, 2, ...
//	hits, err := index.Search(ctx, query, 10)             // among all documents, the best first
//	hits, err = index.SearchAmong(ctx, query, 10, ids)    // among candidates, such as the hits of another index
//	n := index.Remove(3, 4)
//	err = index.Save("documents.maxsim")
//
// The score of a document is the sum, over the vectors of the query, of the largest dot product
// with a vector of the document: text.MaxSim up to rounding. It is exact: Search reads all vectors,
// which takes long for many documents. In that case, find candidates with an index of package
// search or bm25 first. Scores do not depend on the number of threads, and of equal scores the
// smaller id comes first.
//
// This package is settling: see doc/stability.md.
package maxsim

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/search"
	"github.com/avoformer/avoformer/search/internal/best"
)

// Options are options of an index.
type Options struct {
	// Threads is the largest number of goroutines of a search; 0 is runtime.GOMAXPROCS.
	Threads int
}

// An Index holds documents with ids. It is safe for concurrent use: a search sees the contents of
// the index at its beginning.
type Index struct {
	dim, threads int

	mu        sync.Mutex
	documents []document // only grows or is replaced, because searches read a part of it
	places    map[int64]int
	next      int64 // next id, if ids are positions
	named     bool  // ids are stored, not positions
}

// document has the vectors of one text.
type document struct {
	id   int64
	gone bool
	rows []float32 // [vectors, dim]
}

// maxDim is the largest dimension.
const maxDim = 1 << 16

// New returns an empty index of vectors of dim numbers, 1 to 65536.
func New(dim int, o Options) (*Index, error) {
	if dim < 1 || dim > maxDim {
		return nil, check.Option("dim", dim, "want 1 to %d", maxDim)
	}
	if o.Threads < 0 {
		return nil, check.Option("Threads", o.Threads, "want at least 0")
	}
	return &Index{dim: dim, threads: o.Threads, places: map[int64]int{}}, nil
}

// Dim returns the number of numbers in a vector.
func (x *Index) Dim() int { return x.dim }

// Len returns the number of documents in the index.
func (x *Index) Len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.places)
}

// Add adds all documents or, with an error, none. A document consists of the vectors of its tokens,
// of Dim finite numbers each. ids are the documents' ids, which must not be in the index; if ids is
// nil, ids are positions, from 0 on. An index has either kind of ids, not both. The vectors are
// copied.
func (x *Index) Add(ids []int64, documents [][][]float32) error {
	return x.put(ids, documents, false)
}

// Replace replaces the documents with the given ids, in one step, and adds those whose ids the
// index does not have. With an error, nothing changes.
func (x *Index) Replace(ids []int64, documents [][][]float32) error {
	if len(ids) == 0 && len(documents) == 0 {
		return nil
	}
	return x.put(append([]int64{}, ids...), documents, true)
}

func (x *Index) put(ids []int64, documents [][][]float32, replace bool) error {
	if ids != nil && len(ids) != len(documents) {
		return check.Errorf(fault.ErrInput, "%d ids for %d documents", len(ids), len(documents))
	}
	rows := make([][]float32, len(documents))
	for i, d := range documents {
		var err error
		if rows[i], err = x.flat(d); err != nil {
			return check.Errorf(fault.ErrInput, "document %d: %w", i, err)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.documents) > 0 && len(documents) > 0 && !replace && (ids != nil) != x.named {
		return check.Errorf(fault.ErrInput, "an index has ids for all documents or for none")
	}
	seen := make(map[int64]bool, len(ids))
	for _, id := range ids {
		if _, ok := x.places[id]; seen[id] || ok && !replace {
			return check.Errorf(fault.ErrInput, "id %d is already in the index, or occurs twice in the call", id)
		}
		seen[id] = true
	}
	if replace {
		x.remove(ids)
	}
	if len(documents) > 0 {
		x.named = ids != nil
	}
	for i := range rows {
		id := x.next
		if ids != nil {
			id = ids[i]
		}
		x.next++
		x.places[id] = len(x.documents)
		x.documents = append(x.documents, document{id: id, rows: rows[i]})
	}
	return nil
}

// flat returns a copy of vectors, one after the other.
func (x *Index) flat(vectors [][]float32) ([]float32, error) {
	rows := make([]float32, 0, len(vectors)*x.dim)
	for i, v := range vectors {
		if len(v) != x.dim {
			return nil, check.Errorf(fault.ErrInput, "vector %d: %d numbers, want %d", i, len(v), x.dim)
		}
		for j, a := range v {
			if !(a <= math.MaxFloat32 && a >= -math.MaxFloat32) {
				return nil, check.Errorf(fault.ErrInput, "vector %d: number %d is %g, want a finite number", i, j, a)
			}
		}
		rows = append(rows, v...)
	}
	return rows, nil
}

// Remove removes the documents with any of the ids, and returns their number. Ids that the index
// does not have are not an error. If ids were positions, they do not change, and Add needs ids from
// then on, unless the index is empty.
func (x *Index) Remove(ids ...int64) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.remove(ids)
}

func (x *Index) remove(ids []int64) int {
	before := len(x.places)
	var changed []document
	for _, id := range ids {
		at, ok := x.places[id]
		if !ok {
			continue
		}
		if changed == nil { // searches read x.documents
			changed = slices.Clone(x.documents)
		}
		changed[at] = document{gone: true}
		delete(x.places, id)
	}
	if changed == nil {
		return 0
	}
	x.documents, x.named = changed, true
	if 2*len(x.places) <= len(changed) {
		x.documents = slices.DeleteFunc(changed, func(d document) bool { return d.gone })
		for i, d := range x.documents {
			x.places[d.id] = i
		}
	}
	if len(x.documents) == 0 {
		x.next = 0
	}
	return before - len(x.places)
}

// Search returns the k documents with the largest scores, the best first, or all if the index has
// fewer. A document without vectors has the score 0. The error is context.Cause(ctx) if ctx is
// done, or an error about k or the query.
func (x *Index) Search(ctx context.Context, query [][]float32, k int) ([]search.Hit, error) {
	return x.SearchWhere(ctx, query, k, nil)
}

// SearchWhere is Search among the documents with an id for which where is true; nil is all. Several
// goroutines call where at a time; it must always return the same for the same id.
func (x *Index) SearchWhere(ctx context.Context, query [][]float32, k int, where func(id int64) bool) ([]search.Hit, error) {
	x.mu.Lock()
	documents := x.documents
	x.mu.Unlock()
	return x.search(ctx, query, k, documents, where)
}

// SearchAmong is Search among the documents with the given ids, and reads only these. It ignores
// ids that the index does not have.
func (x *Index) SearchAmong(ctx context.Context, query [][]float32, k int, ids []int64) ([]search.Hit, error) {
	x.mu.Lock()
	var among []document
	seen := make(map[int64]bool, len(ids))
	for _, id := range ids {
		if at, ok := x.places[id]; ok && !seen[id] {
			seen[id] = true
			among = append(among, x.documents[at])
		}
	}
	x.mu.Unlock()
	return x.search(ctx, query, k, among, nil)
}

// search scores documents, one at a time on each goroutine.
func (x *Index) search(ctx context.Context, query [][]float32, k int, documents []document, where func(id int64) bool) ([]search.Hit, error) {
	if k < 1 {
		return nil, check.Errorf(fault.ErrInput, "k = %d, want at least 1", k)
	}
	q, err := x.flat(query)
	if err != nil {
		return nil, check.Errorf(fault.ErrInput, "query: %w", err)
	}
	threads := x.threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	heaps := make([]*best.Heap, max(1, min(threads, len(documents))))
	var next atomic.Int64
	var group sync.WaitGroup
	for i := range heaps {
		heaps[i] = new(best.Heap)
		heaps[i].Reset(min(k, len(documents)))
		group.Go(func() {
			var scores []float32
			var all best.Sieve // where is called before a score is computed
			for ctx.Err() == nil {
				at := int(next.Add(1)) - 1
				if at >= len(documents) {
					return
				}
				d := &documents[at]
				if d.gone || where != nil && !where(d.id) {
					continue
				}
				score := float32(0)
				score, scores = x.score(q, d.rows, scores)
				heaps[i].Offer(best.Candidate{Score: score, ID: d.id, At: at}, &all)
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	found := best.Of(k, heaps)
	hits := make([]search.Hit, len(found))
	for i, c := range found {
		hits[i] = search.Hit{ID: c.ID, Score: c.Score}
	}
	return hits, nil
}

// score returns the score of a document, and memory for the next one.
func (x *Index) score(query, document, memory []float32) (score float32, scores []float32) {
	m, n := len(query)/x.dim, len(document)/x.dim
	if m == 0 || n == 0 {
		return 0, memory
	}
	scores = slices.Grow(memory[:0], m*n)[:m*n]
	kernels.Gemm(kernels.NoTrans, kernels.Trans, m, n, x.dim, 1, query, x.dim, document, x.dim, 0, scores, n)
	sum := 0.0
	for row := range slices.Chunk(scores, n) {
		sum += float64(slices.Max(row))
	}
	return float32(sum), scores
}
