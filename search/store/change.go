package store

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// Put adds records, and replaces records whose ids the store has: all or, with an error, none. It
// returns the records' numbers. An id may occur only once in a call, and the records of a call may
// have at most 1 GiB. Put copies ids, vectors and payloads.
func (s *Store) Put(records ...Record) (numbers []int64, err error) {
	_, numbers, err = s.Update(nil, records)
	return numbers, err
}

// Remove removes the records with any of the ids, and returns their numbers. Ids that the store
// does not have are not an error.
func (s *Store) Remove(ids ...string) (numbers []int64, err error) {
	numbers, _, err = s.Update(ids, nil)
	return numbers, err
}

// Update removes records and puts records, in one step. It can replace the parts of a document by
// those of a new version, for example. An id that is removed and put again gets a new number.
func (s *Store) Update(remove []string, put []Record) (removed, numbers []int64, err error) {
	vectors, seen, bytes := make([][]float32, len(put)), make(map[string]bool, len(put)), int64(0)
	for i, r := range put {
		if seen[r.ID] {
			return nil, nil, check.Errorf(fault.ErrInput, "record %d: id %q occurs twice in the call", i, check.Short(r.ID))
		}
		seen[r.ID], vectors[i] = true, r.Vector
		if bytes += int64(len(r.ID)) + int64(len(r.Payload)) + 4*int64(len(r.Vector)) + 4*binary.MaxVarintLen64; bytes > mostBody {
			return nil, nil, check.Errorf(fault.ErrInput, "record %d: more than %d bytes in a call", i, mostBody)
		}
	}
	if err := s.index.CheckVectors(vectors); err != nil {
		return nil, nil, err
	}
	s.changes.Lock()
	defer s.changes.Unlock()
	if err := s.usable(); err != nil {
		return nil, nil, err
	}
	body, removed := s.removals(remove)
	body, operations := s.puts(body, removed, put)
	if len(body) == 0 {
		return nil, nil, nil
	}
	if len(body) > mostBody {
		return nil, nil, check.Errorf(fault.ErrInput, "%d bytes in a call, want at most %d", len(body), mostBody)
	}
	at, broken, err := s.log.append(body, s.sync)
	if err != nil {
		if broken {
			s.failed = err
		}
		return nil, nil, err
	}
	return removed, s.apply(at, removed, operations, vectors), nil
}

// removals returns a body with the removals of ids, and the numbers of these ids.
func (s *Store) removals(ids []string) (body []byte, numbers []int64) {
	seen := make(map[int64]bool, len(ids))
	for _, id := range ids {
		if n, ok := s.numbers[id]; ok && !seen[n] {
			seen[n] = true
			body, numbers = appendRemove(body, n), append(numbers, n)
		}
	}
	return body, numbers
}

// puts appends records to a body, and also returns their operations.
func (s *Store) puts(body []byte, removed []int64, put []Record) ([]byte, []operation) {
	gone := make(map[int64]bool, len(removed))
	for _, n := range removed {
		gone[n] = true
	}
	operations, next, vector := make([]operation, len(put)), s.next, []byte(nil)
	for i, r := range put {
		number, ok := s.numbers[r.ID]
		if !ok || gone[number] {
			number = next
			next++
		}
		vector = vector[:0]
		for _, x := range r.Vector {
			vector = binary.LittleEndian.AppendUint32(vector, math.Float32bits(x))
		}
		body, operations[i] = appendPut(body, number, r.ID, r.Payload, vector)
	}
	return body, operations
}

// apply makes the changes of a frame in memory, and returns the numbers of the records that were
// put.
func (s *Store) apply(at int64, removed []int64, operations []operation, vectors [][]float32) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range removed {
		s.forget(n, s.places[n])
	}
	if len(removed) > 0 {
		s.index.Remove(removed...)
	}
	numbers, known := make([]int64, len(operations)), []int64{}
	var of, others [][]float32 // vectors of known numbers, and of new ones
	var new []int64
	for i, op := range operations {
		numbers[i] = op.number
		if op.number < s.next {
			known, of = append(known, op.number), append(of, vectors[i])
		} else {
			new, others = append(new, op.number), append(others, vectors[i])
		}
		s.keep(op, at)
	}
	s.next += int64(len(new))
	// CheckVectors has found no error in the vectors.
	if err := s.index.Replace(known, of); err != nil {
		panic(err)
	}
	if len(new) > 0 {
		if err := s.index.Add(new, others); err != nil {
			panic(err)
		}
	}
	return numbers
}

// compactFrame is the approximate number of bytes that Compact writes at a time.
const compactFrame = 1 << 20

// Compact writes a new log without replaced and removed records next to the log, and renames it: an
// interruption leaves the previous log. Other changes wait; searches do not. [Store.Size] returns
// the size that would be saved.
func (s *Store) Compact() error {
	s.changes.Lock()
	defer s.changes.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	path := filepath.Join(s.dir, logName)
	head, places := s.log.head, make(map[int64]place, len(s.places))
	head.next = s.next
	var written log
	name, err := writeLog(path, head, func(l *log) error {
		defer func() { written = *l }()
		return s.copyTo(l, places)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Windows can neither rename an open file nor rename a file to the name of an open one.
	if err := s.log.file.Close(); err != nil {
		os.Remove(name)
		return s.fail(err)
	}
	renamed := os.Rename(name, path)
	if renamed != nil {
		os.Remove(name)
	}
	again, err := openLog(path)
	if err != nil {
		return s.fail(err)
	}
	s.log.file = again.file
	if renamed != nil {
		return renamed
	}
	written.file = again.file
	*s.log, s.places = written, places
	return s.fail(syncFolder(s.dir))
}

// copyTo appends all records to a log, and sets their places there.
func (s *Store) copyTo(l *log, places map[int64]place) error {
	var body []byte
	var operations []operation
	flush := func() error {
		at, _, err := l.append(body, false)
		for _, op := range operations {
			op.place.at += at
			places[op.number] = op.place
		}
		body, operations = body[:0], operations[:0]
		return err
	}
	for _, n := range s.sorted() {
		payload, vector, err := s.log.raw(s.places[n], s.index.Dim())
		if err != nil {
			return err
		}
		var op operation
		body, op = appendPut(body, n, s.places[n].id, payload, vector)
		operations = append(operations, op)
		if len(body) >= compactFrame {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(body) == 0 {
		return nil
	}
	return flush()
}
