package store

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/filelock"
	"github.com/avoformer/avoformer/search"
)

// Options say how to open a folder.
type Options struct {
	// Index has the options for storing and searching vectors. The precision may change whenever
	// the folder is opened. Index.Fingerprint is the fingerprint of the model of all vectors. A new
	// folder stores it; for an existing folder it must match the stored one, or be
	// search.AnyFingerprint.
	Index search.Options
	// Sync makes each call wait until its changes are on the disk.
	Sync bool
}

// A Record is an entry of a Store.
type Record struct {
	Number  int64 // number of the id; Put ignores it
	ID      string
	Vector  []float32
	Payload []byte
}

// A Store is an open folder.
type Store struct {
	sync bool
	dir  string
	lock *os.File
	cut  int64

	changes sync.Mutex // one change at a time; it is locked before mu
	next    int64      // the number of the next new id
	failed  error      // the error after which no change is possible

	mu      sync.RWMutex
	log     *log
	closed  bool
	live    int64 // bytes of the operations that put the present records
	index   *search.Index
	numbers map[string]int64
	places  map[int64]place // by number
}

// place is the position of a record in the log.
type place struct {
	id      string
	at      int64  // place of the payload; the vector follows
	payload uint32 // its length
	sum     uint32 // of payload and vector
	size    uint32 // of the operation
}

// The files of a folder.
const (
	logName  = "records.log"
	lockName = "lock"
)

// Open opens a folder, and creates it if it does not exist. Vectors have dim numbers. The caller
// must call Close. The error matches fault.ErrLocked if the folder is already open, fault.ErrFormat
// if its log is damaged, and fault.ErrOtherResults if its fingerprint differs.
func Open(dir string, dim int, o Options) (*Store, error) {
	index, err := search.New(dim, o.Index)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	s := &Store{sync: o.Sync, dir: filepath.Clean(dir), lock: lock, index: index, numbers: map[string]int64{}, places: map[int64]place{}}
	if err := s.open(o.Index.Fingerprint); err != nil {
		if s.log != nil {
			s.log.file.Close()
		}
		filelock.Unlock(lock)
		lock.Close()
		return nil, err
	}
	return s, nil
}

// open locks the folder and reads its log.
func (s *Store) open(fingerprint string) error {
	held, err := filelock.TryLock(s.lock)
	if err != nil {
		return err
	}
	if !held {
		return check.Errorf(fault.ErrLocked, "%s: another Store has it open", s.dir)
	}
	if err := removeTemporary(s.dir); err != nil {
		return err
	}
	path := filepath.Join(s.dir, logName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if fingerprint == search.AnyFingerprint {
			return check.Option("Fingerprint", fingerprint, "want the model's fingerprint, because the folder is new")
		}
		if err := createLog(path, header{dim: s.index.Dim(), fingerprint: fingerprint}); err != nil {
			return err
		}
		if err := syncFolder(filepath.Dir(s.dir)); err != nil && !errors.Is(err, fs.ErrPermission) { // the parent folder may not be readable
			return err
		}
	}
	if s.log, err = openLog(path); err != nil {
		return err
	}
	if err := s.read(fingerprint); err != nil {
		return check.InFile(logName, fault.ErrFormat, err)
	}
	return nil
}

// read reads the log.
func (s *Store) read(fingerprint string) error {
	h, err := s.log.readHeader()
	if err != nil {
		return err
	}
	if h.dim != s.index.Dim() {
		return check.Option("dim", s.index.Dim(), "want %d, as in the folder", h.dim)
	}
	if err := sameFingerprint(h, fingerprint); err != nil {
		return err
	}
	if s.cut, err = s.log.readFrames(func(at int64, body []byte) error {
		return operations(body, h.dim, func(op operation) error { return s.replay(at, op) })
	}); err != nil {
		return err
	}
	s.next = max(s.next, h.next)
	return s.load()
}

// replay applies an operation of the log to numbers and places. load reads the vectors.
func (s *Store) replay(at int64, op operation) error {
	number, known := s.numbers[op.id]
	old, there := s.places[op.number]
	switch {
	case op.remove && !there:
		return check.Errorf(fault.ErrFormat, "byte %d: number %d is removed, but has no record", at, op.number)
	case op.remove:
		s.forget(op.number, old)
	case known && number != op.number || !known && op.number < s.next:
		return check.Errorf(fault.ErrFormat, "byte %d: %q has number %d, want another one", at, check.Short(op.id), op.number)
	default:
		s.keep(op, at)
		s.next = max(s.next, op.number+1)
	}
	return nil
}

// keep stores the place of a record whose frame's body begins at at.
func (s *Store) keep(op operation, at int64) {
	if old, ok := s.places[op.number]; ok {
		s.live -= int64(old.size)
	}
	p := op.place
	p.at += at
	s.places[op.number], s.numbers[op.id] = p, op.number
	s.live += int64(p.size)
}

func (s *Store) forget(number int64, p place) {
	delete(s.places, number)
	delete(s.numbers, p.id)
	s.live -= int64(p.size)
}

// load adds the vectors of all records to the index.
func (s *Store) load() error {
	numbers := s.sorted()
	slices.SortFunc(numbers, func(a, b int64) int { return cmp.Compare(s.places[a].at, s.places[b].at) })
	dim := s.index.Dim()
	for part := range slices.Chunk(numbers, 256) {
		vectors := make([][]float32, len(part))
		for i, n := range part {
			r, err := s.log.record(s.places[n], dim)
			if err != nil {
				return err
			}
			vectors[i] = r.Vector
		}
		if err := s.index.Add(part, vectors); err != nil {
			return check.Errorf(fault.ErrFormat, "%w", err)
		}
	}
	return nil
}

// sorted returns all numbers in ascending order.
func (s *Store) sorted() []int64 {
	return slices.Sorted(maps.Keys(s.places))
}

// Len returns the number of records.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.places)
}

// Dim returns the number of numbers in a vector.
func (s *Store) Dim() int { return s.index.Dim() }

// Cut returns the size in bytes of an unfinished change that Open cut off, usually 0.
func (s *Store) Cut() int64 { return s.cut }

// Size returns the size of the log in bytes, and the approximate size that it would have after
// Compact. It waits for a change in progress.
func (s *Store) Size() (log, kept int64) {
	s.changes.Lock()
	defer s.changes.Unlock()
	return s.log.size, s.live + int64(s.log.begin)
}

// Sync writes all changes to the disk.
func (s *Store) Sync() error {
	s.changes.Lock()
	defer s.changes.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	return s.fail(s.log.file.Sync())
}

// usable returns an error if records cannot be changed. The caller holds the lock changes.
func (s *Store) usable() error {
	if s.closed {
		return &os.PathError{Op: "store", Path: s.dir, Err: os.ErrClosed}
	}
	return s.failed
}

// fail makes all further changes return an error, because the state of the file is unknown.
func (s *Store) fail(err error) error {
	if err != nil && s.failed == nil {
		s.failed = err
	}
	return err
}

// Close waits for calls in progress, writes all changes to the disk, and releases the folder. All
// later calls return os.ErrClosed, except Close, which may be called again.
func (s *Store) Close() error {
	s.changes.Lock()
	defer s.changes.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.log.file.Sync(), s.log.file.Close(), filelock.Unlock(s.lock), s.lock.Close())
}
