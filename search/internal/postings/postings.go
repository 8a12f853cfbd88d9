// Package postings has lists of documents by term, for packages bm25 and sparse.
package postings

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/search/internal/best"
)

// Term is a term of a document or a query, and its weight there.
type Term[K cmp.Ordered] struct {
	Key    K
	Weight float32
}

// Posting is a document that has a term.
type Posting struct {
	At     uint32 // the position of the document
	Weight float32
}

// most is the largest number of documents of an index.
const most = 1<<31 - 1

// Index has a list of postings for each term. It is safe for concurrent use.
type Index[K cmp.Ordered] struct {
	mu sync.Mutex
	parts[K]
}

// parts are replaced together when an index drops removed documents. Slices only grow, so that a
// search reads what they contained when it began.
type parts[K cmp.Ordered] struct {
	count   int     // of all documents, removed ones included
	ids     []int64 // empty where ids are positions
	sizes   []float32
	total   float64 // of the sizes of documents that were not removed
	lists   map[K][]Posting
	removed best.Marks
	gone    int
}

// Len returns the number of documents in the index.
func (x *Index[K]) Len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.count - x.gone
}

// Add adds documents. A document's terms have different keys, and weights other than 0. ids are the
// documents' ids, or nil where ids are positions.
func (x *Index[K]) Add(ids []int64, documents [][]Term[K]) error {
	if ids != nil && len(ids) != len(documents) {
		return check.Errorf(fault.ErrInput, "%d ids for %d documents", len(ids), len(documents))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.count > 0 && len(documents) > 0 && (ids != nil) != (len(x.ids) > 0) {
		return check.Errorf(fault.ErrInput, "an index has ids for all documents or for none")
	}
	if err := x.room(len(documents)); err != nil {
		return err
	}
	x.add(ids, documents)
	return nil
}

// Replace removes the documents with any of the ids, and adds new ones with these ids.
func (x *Index[K]) Replace(ids []int64, documents [][]Term[K]) error {
	if len(ids) != len(documents) {
		return check.Errorf(fault.ErrInput, "%d ids for %d documents", len(ids), len(documents))
	}
	if len(ids) == 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.room(len(documents)); err != nil {
		return err
	}
	x.remove(ids)
	x.name()
	x.add(ids, documents)
	return nil
}

// Remove removes all documents with any of the ids, and returns their number.
func (x *Index[K]) Remove(ids []int64) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.remove(ids)
}

// room returns an error unless n more documents fit into the index.
func (x *parts[K]) room(n int) error {
	if n > most-x.count {
		return check.Errorf(fault.ErrInput, "%d documents and %d more, want at most %d", x.count, n, most)
	}
	return nil
}

func (x *parts[K]) add(ids []int64, documents [][]Term[K]) {
	if x.lists == nil {
		x.lists = map[K][]Posting{}
	}
	x.ids = append(x.ids, ids...)
	for _, terms := range documents {
		size := float32(0)
		for _, t := range terms {
			x.lists[t.Key] = append(x.lists[t.Key], Posting{uint32(x.count), t.Weight})
			size += t.Weight
		}
		x.sizes = append(x.sizes, size)
		x.total += float64(size)
		x.count++
	}
}

// name stores positions as ids, if documents had no others.
func (x *parts[K]) name() {
	for i := len(x.ids); i < x.count; i++ {
		x.ids = append(x.ids, int64(i))
	}
}

// id returns the id of the document at a position.
func (x *parts[K]) id(i int) int64 {
	if len(x.ids) == 0 {
		return int64(i)
	}
	return x.ids[i]
}

func (x *parts[K]) remove(ids []int64) int {
	removed, n := x.removed.Removed(x.count, x.id, ids)
	if n == 0 {
		return 0
	}
	x.name()
	for i := range x.count {
		if removed.Has(i) && !x.removed.Has(i) {
			x.total -= float64(x.sizes[i])
		}
	}
	x.removed, x.gone = removed, x.gone+n
	if 2*x.gone >= x.count {
		*x = x.kept()
	}
	return n
}

// kept returns a copy of the parts without removed documents.
func (x *parts[K]) kept() parts[K] {
	y := parts[K]{count: x.count - x.gone, lists: map[K][]Posting{}}
	to := make([]uint32, x.count)
	for i := range x.count {
		if x.removed.Has(i) {
			continue
		}
		to[i] = uint32(len(y.sizes))
		y.sizes = append(y.sizes, x.sizes[i])
		y.total += float64(x.sizes[i])
		if len(x.ids) > 0 {
			y.ids = append(y.ids, x.ids[i])
		}
	}
	for key, list := range x.lists {
		n := Live(list, x.removed)
		if n == 0 {
			continue
		}
		kept := make([]Posting, 0, n)
		for _, p := range list {
			if !x.removed.Has(int(p.At)) {
				kept = append(kept, Posting{to[p.At], p.Weight})
			}
		}
		y.lists[key] = kept
	}
	return y
}

// Live returns the number of documents in a list that were not removed.
func Live(list []Posting, removed best.Marks) int {
	if removed == nil {
		return len(list)
	}
	n := 0
	for _, p := range list {
		if !removed.Has(int(p.At)) {
			n++
		}
	}
	return n
}

// keys returns all terms in order.
func (x *parts[K]) keys() []K {
	return slices.Sorted(maps.Keys(x.lists))
}

// terms returns the number of terms of each document.
func (x *parts[K]) terms() []uint32 {
	n := make([]uint32, x.count)
	for _, list := range x.lists {
		for _, p := range list {
			n[p.At]++
		}
	}
	return n
}
