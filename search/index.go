package search

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/search/internal/best"
)

// This file has the index, and adding vectors.

// An Index holds vectors with ids. It is safe for concurrent use: a search sees the contents of the
// index at its beginning.
type Index struct {
	dim       int
	options   Options
	unmatched atomic.Bool // a loaded fingerprint has not been checked yet

	mu      sync.Mutex
	count   int         // of all vectors, removed ones included
	ids     rows[int64] // empty where ids are positions
	vectors store
	again   rowStore // nil without rescoring
	removed best.Marks
	gone    int // number of removed vectors
}

// New returns an empty index of vectors of dim numbers, 1 to 65536.
func New(dim int, o Options) (*Index, error) {
	if dim < 1 || dim > maxDim {
		return nil, check.Option("dim", dim, "want 1 to %d", maxDim)
	}
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	x := &Index{dim: dim, options: o}
	x.reset()
	return x, nil
}

// matched returns an error if a loaded fingerprint has not been checked yet.
func (x *Index) matched() error {
	if x.unmatched.Load() {
		return check.Errorf(fault.ErrOtherResults, "the index was made with the fingerprint %s: call CheckFingerprint with the model's first", x.options.Fingerprint)
	}
	return nil
}

// reset makes the index empty, with new memory.
func (x *Index) reset() {
	x.count, x.gone, x.removed, x.ids = 0, 0, nil, rows[int64]{width: 1}
	if x.options.Precision == Binary {
		x.vectors = newBits(x.dim)
	} else {
		x.vectors = newMatrix(x.dim, x.options.Precision)
	}
	switch x.options.Rescore {
	case Float32:
		x.again = &floatRows{rows[float32]{width: x.dim}}
	case Int8:
		x.again = newByteRows(x.dim)
	}
}

// Dim returns the number of numbers in a vector.
func (x *Index) Dim() int { return x.dim }

// Options returns the options of the index, with defaults in place of zeros.
func (x *Index) Options() Options { return x.options }

// Len returns the number of vectors in the index.
func (x *Index) Len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.count - x.gone
}

// Add adds all vectors or, with an error, none. ids are their ids; if ids is nil, these are their
// positions, from 0 on. An index has either kind of ids, not both. An id may occur more than once:
// a hit is a vector. Numbers must be finite, and for Int8 at most 8.3e6, the limit of a scale of 16
// bits. The vectors are copied.
func (x *Index) Add(ids []int64, vectors [][]float32) error {
	if ids != nil && len(ids) != len(vectors) {
		return check.Errorf(fault.ErrInput, "%d ids for %d vectors", len(ids), len(vectors))
	}
	if err := x.checkAll(vectors); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.count > 0 && len(vectors) > 0 && (ids != nil) != (x.ids.len() > 0) {
		return check.Errorf(fault.ErrInput, "an index has ids for all vectors or for none")
	}
	x.add(ids, vectors)
	return nil
}

// add adds checked vectors. The caller holds the lock.
func (x *Index) add(ids []int64, vectors [][]float32) {
	for i, v := range vectors {
		if ids != nil {
			x.ids.add(ids[i : i+1])
		}
		x.vectors.add(v)
		if x.again != nil {
			x.again.add(v)
		}
	}
	x.count += len(vectors)
}

// CheckVectors returns the error that Add and Replace would return for these vectors, or nil.
func (x *Index) CheckVectors(vectors [][]float32) error { return x.checkAll(vectors) }

// checkAll returns the error of the first vector that cannot be added.
func (x *Index) checkAll(vectors [][]float32) error {
	if err := x.matched(); err != nil {
		return err
	}
	for i, v := range vectors {
		if err := x.check(v, x.largest()); err != nil {
			return check.Errorf(fault.ErrInput, "vector %d: %w", i, err)
		}
	}
	return nil
}

// largest returns the largest magnitude that numbers of a vector may have.
func (x *Index) largest() float32 {
	if x.options.Precision == Int8 || x.options.Rescore == Int8 {
		return maxInt8
	}
	return math.MaxFloat32
}

// check returns an error unless v has the index's dimension and numbers of a magnitude of at most
// most.
func (x *Index) check(v []float32, most float32) error {
	if len(v) != x.dim {
		return fmt.Errorf("%d numbers, want %d", len(v), x.dim)
	}
	for i, a := range v {
		if !(a <= most && a >= -most) {
			return fmt.Errorf("number %d is %g, want at most %g", i, a, most)
		}
	}
	return nil
}
