// Package sparse finds, among many sparse vectors, those with the largest dot products with a
// query. text.Embedder.EmbedSparse computes such vectors from texts. For each element, an index has
// a list of the vectors that contain it. Ids and hits are the same as in package search.
//
//	index := sparse.New()
//	err := index.Add(nil, vectors)                  // ids are 0, 1, 2, ...
//	hits, err := index.Search(ctx, queries, 10)     // for each query the ten best, the best first
//	err = index.Replace([]int64{7}, vectors[:1])    // adds it if there is none
//	n := index.Remove(3, 4)
//	err = index.Save("vectors.sparse")
//
// Searches are exact: a score has the bits of [Vector.Dot], and of equal scores the smaller id
// comes first.
//
// This package is settling: see doc/stability.md.
package sparse

import (
	"context"
	"encoding/binary"
	"io"
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/search"
	"github.com/avoformer/avoformer/search/internal/postings"
	"github.com/avoformer/avoformer/search/internal/sums"
)

// An Index holds vectors with ids. It is safe for concurrent use: a search sees the contents of the
// index at its beginning.
type Index struct{ lists postings.Index[int] }

// New returns an empty index.
func New() *Index { return new(Index) }

// Len returns the number of vectors in the index.
func (x *Index) Len() int { return x.lists.Len() }

// Add adds all vectors or, with an error, none. ids are their ids; if ids is nil, these are their
// positions, from 0 on. An index has either kind of ids, not both. An id may occur more than once:
// a hit is a vector. The indices of a vector are in ascending order and not negative, and values
// are finite. The vectors are copied.
func (x *Index) Add(ids []int64, vectors []Vector) error {
	documents, err := checked("vector", vectors)
	if err != nil {
		return err
	}
	return x.lists.Add(ids, documents)
}

// Replace replaces all vectors with the given ids, in one step. Vectors whose ids the index does
// not have are added. With an error, nothing changes.
func (x *Index) Replace(ids []int64, vectors []Vector) error {
	documents, err := checked("vector", vectors)
	if err != nil {
		return err
	}
	return x.lists.Replace(ids, documents)
}

// Remove removes all vectors with one of the ids, and returns their number. Ids that the index does
// not have are not an error. A call reads all ids of the index: remove many ids in one call. If ids
// were positions, they do not change, and Add needs ids from then on, unless the index is empty.
func (x *Index) Remove(ids ...int64) int { return x.lists.Remove(ids) }

// checked returns the elements of vectors that are not 0, or an error.
func checked(what string, vectors []Vector) ([][]postings.Term[int], error) {
	all := make([][]postings.Term[int], len(vectors))
	for i, v := range vectors {
		last := -1
		for j, w := range v {
			switch {
			case w.Index <= last:
				return nil, check.Errorf(fault.ErrInput, "%s %d: element %d has index %d, want at least %d", what, i, j, w.Index, last+1)
			case !(w.Value <= math.MaxFloat32 && w.Value >= -math.MaxFloat32):
				return nil, check.Errorf(fault.ErrInput, "%s %d: element %d is %g, want a finite number", what, i, j, w.Value)
			case w.Value != 0:
				all[i] = append(all[i], postings.Term[int]{Key: w.Index, Weight: w.Value})
			}
			last = w.Index
		}
	}
	return all, nil
}

// Search finds for each query the k vectors with the largest scores, the best first. It finds only
// vectors that have an element of the query, which may have a score of 0 or less. The error is
// context.Cause(ctx) if ctx is done, or an error about k or a query.
func (x *Index) Search(ctx context.Context, queries []Vector, k int) ([][]search.Hit, error) {
	return x.SearchWhere(ctx, queries, k, nil)
}

// SearchWhere is Search among the vectors with an id for which where is true; nil is all.
// [search.WithID] makes such a condition from ids.
func (x *Index) SearchWhere(ctx context.Context, queries []Vector, k int, where func(id int64) bool) ([][]search.Hit, error) {
	if k < 1 {
		return nil, check.Errorf(fault.ErrInput, "k = %d, want at least 1", k)
	}
	terms, err := checked("query", queries)
	if err != nil {
		return nil, err
	}
	hits := make([][]search.Hit, len(queries))
	for i, q := range terms {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		v := x.lists.View(q)
		s := v.Scores()
		for j, list := range v.Lists {
			weight := float64(q[j].Weight)
			for _, p := range list {
				s.Add(p.At, weight*float64(p.Weight))
			}
		}
		hits[i] = v.Best(s, k, where)
	}
	return hits, nil
}

// kind is the format of files: the index of an element is a varint.
var kind = postings.Kind[int]{
	Name:       "AVOSPARS",
	AppendTerm: func(b []byte, index int) []byte { return binary.AppendUvarint(b, uint64(index)) },
	ReadTerm: func(r *postings.Reader) (int, error) {
		n, err := r.Uvarint(0, math.MaxInt)
		return int(n), err
	},
}

// Save writes the index to a temporary file next to the destination and renames it: an interruption
// leaves the previous file unchanged.
func (x *Index) Save(name string) error { return sums.Save(name, x) }

// WriteTo writes the index in the format of a file. Changes wait until it has returned.
func (x *Index) WriteTo(w io.Writer) (int64, error) { return x.lists.WriteTo(w, kind, nil) }

// Load reads a file that Save wrote.
func Load(name string) (*Index, error) { return sums.Load(name, Read) }

// Read reads the output of WriteTo, and no byte after it. It allocates memory as data arrives, not
// by the sizes that the header claims.
func Read(r io.Reader) (*Index, error) {
	x := New()
	if _, err := x.lists.Load(r, kind); err != nil {
		return nil, err
	}
	return x, nil
}
