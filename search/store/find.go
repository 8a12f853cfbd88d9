package store

import (
	"context"
	"iter"
	"os"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// Hit is a record that a query found.
type Hit struct {
	Number  int64 // of the id
	ID      string
	Score   float32 // as in search.Hit
	Payload []byte
}

// readable returns an error if records cannot be read. The caller holds the lock mu.
func (s *Store) readable() error {
	if s.closed {
		return &os.PathError{Op: "store", Path: s.dir, Err: os.ErrClosed}
	}
	return nil
}

// Search finds for each query the k records whose vectors have the largest scores, the best first,
// or all if there are fewer: see search.Index.Search. Of equal scores the smaller number comes
// first.
func (s *Store) Search(ctx context.Context, vectors [][]float32, k int) ([][]Hit, error) {
	return s.SearchWhere(ctx, vectors, k, nil)
}

// SearchWhere is Search among the records with an id for which where is true; nil is all. Several
// goroutines call where at a time, and only for vectors with a high enough score. It must always
// return the same for the same id, and must not call the store.
func (s *Store) SearchWhere(ctx context.Context, vectors [][]float32, k int, where func(id string) bool) ([][]Hit, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.readable(); err != nil {
		return nil, err
	}
	var number func(int64) bool
	if where != nil {
		number = func(n int64) bool { return where(s.places[n].id) }
	}
	found, err := s.index.SearchWhere(ctx, vectors, k, number)
	if err != nil {
		return nil, err
	}
	hits := make([][]Hit, len(found))
	for i, list := range found {
		hits[i] = make([]Hit, len(list))
		for j, h := range list {
			p := s.places[h.ID]
			payload, _, err := s.log.raw(p, s.index.Dim())
			if err != nil {
				return nil, err
			}
			hits[i][j] = Hit{h.ID, p.id, h.Score, payload}
		}
	}
	return hits, nil
}

// Get returns the record with an id. The error matches fault.ErrAbsent if there is none.
func (s *Store) Get(id string) (Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, ok := s.numbers[id]
	if !ok && !s.closed {
		return Record{}, check.Errorf(fault.ErrAbsent, "record %q", check.Short(id))
	}
	return s.get(n)
}

// GetNumber returns the record whose id has a number. Such a number may be the id of a hit in
// another index. The error matches fault.ErrAbsent if there is none.
func (s *Store) GetNumber(number int64) (Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.get(number)
}

// get does the work of GetNumber. The caller holds the lock mu.
func (s *Store) get(number int64) (Record, error) {
	if err := s.readable(); err != nil {
		return Record{}, err
	}
	p, ok := s.places[number]
	if !ok {
		return Record{}, check.Errorf(fault.ErrAbsent, "record %d", number)
	}
	r, err := s.log.record(p, s.index.Dim())
	r.Number = number
	return r, err
}

// All yields all records in the order of their numbers. It ends after an error. Records that are
// put while it runs may be missing.
func (s *Store) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s.mu.RLock()
		numbers := s.sorted()
		err := s.readable()
		s.mu.RUnlock()
		if err != nil {
			yield(Record{}, err)
			return
		}
		for _, n := range numbers {
			s.mu.RLock()
			_, there := s.places[n]
			var r Record
			if there {
				r, err = s.get(n)
			}
			s.mu.RUnlock()
			if there && (!yield(r, err) || err != nil) {
				return
			}
		}
	}
}
