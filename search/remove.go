package search

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// This file removes vectors. A removed vector is marked, and searches and files skip it. When half
// of the vectors are marked, the remaining vectors are copied to new memory.

// Remove removes all vectors with one of the ids, and returns their number. Ids that the index does
// not have are not an error. Searches in progress still find them. A call reads all ids of the
// index: remove many ids in one call. If ids were positions, they do not change, and Add needs ids
// from then on, unless the index is empty.
func (x *Index) Remove(ids ...int64) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.remove(ids)
}

// Replace replaces all vectors with the given ids, in one step: a search finds either the old
// vectors or the new ones. Vectors whose ids the index does not have are added. With an error,
// nothing changes.
func (x *Index) Replace(ids []int64, vectors [][]float32) error {
	if len(ids) != len(vectors) {
		return check.Errorf(fault.ErrInput, "%d ids for %d vectors", len(ids), len(vectors))
	}
	if err := x.checkAll(vectors); err != nil {
		return err
	}
	if len(ids) == 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(ids)
	x.name()
	x.add(ids, vectors)
	return nil
}

// name stores positions as ids, if vectors had no others.
func (x *Index) name() {
	for i := x.ids.len(); i < x.count; i++ {
		x.ids.add([]int64{int64(i)})
	}
}

// remove does the work of Remove. The caller holds the lock.
func (x *Index) remove(ids []int64) int {
	removed, n := x.removed.Removed(x.count, x.id, ids)
	if n == 0 {
		return 0
	}
	x.name()
	x.removed, x.gone = removed, x.gone+n
	if 2*x.gone >= x.count {
		x.compact()
	}
	return n
}

// id returns the id of the vector at a position.
func (x *Index) id(i int) int64 {
	if x.ids.len() == 0 {
		return int64(i)
	}
	return x.ids.row(i)[0]
}

// compact copies the vectors that were not removed to new stores. Vectors are already rounded, so
// this does not change them.
func (x *Index) compact() {
	ids, vectors, again, removed, count := x.ids, x.vectors, x.again, x.removed, x.count
	x.reset()
	v := make([]float32, x.dim)
	for i := range count {
		if removed.Has(i) {
			continue
		}
		x.ids.add(ids.row(i))
		vectors.decode(v, i)
		x.vectors.add(v)
		if again != nil {
			again.decode(v, i)
			x.again.add(v)
		}
		x.count++
	}
}

// WithID returns the condition for [Index.SearchWhere] that an id is one of the given ids.
func WithID(ids ...int64) func(id int64) bool {
	set := make(map[int64]struct{}, len(ids))
	for _, id := range ids {
		set[id] = struct{}{}
	}
	return func(id int64) bool { _, ok := set[id]; return ok }
}
