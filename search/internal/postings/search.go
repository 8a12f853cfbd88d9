package postings

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/avoformer/avoformer/search"
	"github.com/avoformer/avoformer/search/internal/best"
)

// View is a snapshot of an index for a search.
type View struct {
	Lists   [][]Posting // of each requested term
	Sizes   []float32   // of each document, the sum of its weights
	Total   float64     // of the sizes of documents that were not removed
	Count   int         // of documents that were not removed
	Removed best.Marks

	ids []int64
}

// View returns the lists of terms.
func (x *Index[K]) View(terms []Term[K]) View {
	v := View{Lists: make([][]Posting, len(terms))}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, t := range terms {
		v.Lists[i] = x.lists[t.Key]
	}
	v.Sizes, v.Total, v.Count, v.Removed, v.ids = x.sizes, x.total, x.count-x.gone, x.removed, x.ids
	return v
}

// Scores has the scores of the documents that a search has found.
type Scores struct {
	sums []float64
	met  []uint64 // a bit for each document; a sum without its bit is not valid
	heap best.Heap
}

var pool = sync.Pool{New: func() any { return new(Scores) }}

// Scores returns memory for the scores of a view. Best returns it to the pool.
func (v *View) Scores() *Scores {
	s := pool.Get().(*Scores)
	n := len(v.Sizes)
	s.sums = slices.Grow(s.sums[:0], n)[:n]
	s.met = slices.Grow(s.met[:0], (n+63)/64)[:(n+63)/64]
	clear(s.met)
	return s
}

// Add adds to the score of the document at a position.
func (s *Scores) Add(at uint32, score float64) {
	word, bit := &s.met[at/64], uint64(1)<<(at%64)
	if *word&bit == 0 {
		*word |= bit
		s.sums[at] = score
		return
	}
	s.sums[at] += score
}

// Best returns the k best documents of those that were passed to Add and for which where is true,
// the best first.
func (v *View) Best(s *Scores, k int, where func(id int64) bool) []search.Hit {
	defer pool.Put(s)
	s.heap.Reset(k)
	sieve := best.Sieve{Removed: v.Removed, Where: where}
	for w, word := range s.met {
		for ; word != 0; word &= word - 1 {
			at := 64*w + bits.TrailingZeros64(word)
			id := int64(at)
			if len(v.ids) > 0 {
				id = v.ids[at]
			}
			s.heap.Offer(best.Candidate{Score: float32(s.sums[at]), ID: id, At: at}, &sieve)
		}
	}
	found := best.Of(k, []*best.Heap{&s.heap})
	hits := make([]search.Hit, len(found))
	for i, c := range found {
		hits[i] = search.Hit{ID: c.ID, Score: c.Score}
	}
	return hits
}
