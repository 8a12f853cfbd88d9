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

// This file has the index, its options, and adding vectors.

// Precision is the format in which vectors are held.
type Precision uint8

// The precisions.
const (
	Float32 Precision = 1 + iota // as given
	Int8                         // integers of at most 127, with a scale of 16 bits for each 32: Q8_0 of GGUF
	Binary                       // the signs: 1 for what is above 0
)

var precisionNames = [...]string{"none", "float32", "int8", "binary"}

// String returns the name as sentence-transformers has it.
func (p Precision) String() string {
	if int(p) < len(precisionNames) {
		return precisionNames[p]
	}
	return fmt.Sprintf("Precision(%d)", uint8(p))
}

// ParsePrecision returns the precision of that name: float32, int8 or binary.
func ParsePrecision(name string) (Precision, error) {
	for p := Float32; p <= Binary; p++ {
		if p.String() == name {
			return p, nil
		}
	}
	return 0, check.Option("Precision", name, "want float32, int8 or binary")
}

// Options are how an index holds and searches vectors. The zero value holds float32 and uses all CPUs.
type Options struct {
	// Precision is that of the vectors that are searched; 0 is Float32.
	Precision Precision
	// Rescore, Float32 or Int8, holds the vectors a second time, row by row, with which the best
	// k*Oversample are scored again. 0 holds nothing.
	Rescore Precision
	// Oversample is how many times more candidates are scored again than are asked for; 0 is 4.
	Oversample int
	// Threads is how many goroutines a search may use; 0 is runtime.GOMAXPROCS.
	Threads int
	// Fingerprint is that of the model of the vectors, as text.Embedder.Fingerprint returns it; "" is an unknown one. Files hold it, and a
	// program that loads one must call [Index.CheckFingerprint].
	Fingerprint string
}

const maxDim = 1 << 16

// segment is how many vectors one goroutine searches at a time: their scores with a block of queries stay in its caches. It is a multiple
// of the columns of a panel on every tier, which gives all vectors of a product the same order of sums.
const segment = 1536

// An Index holds vectors with ids. It is safe for concurrent use: a search sees the contents of the index at its
// beginning.
type Index struct {
	dim       int
	options   Options
	unmatched atomic.Bool // the fingerprint of a file

	mu      sync.Mutex
	count   int         // of all vectors, removed ones included
	ids     rows[int64] // empty where ids are positions
	vectors store
	again   rowStore // nil without rescoring
	removed best.Marks
	gone    int // how many marks there are
}

// New returns an empty index of vectors of dim numbers, 1 to 65536.
func New(dim int, o Options) (*Index, error) {
	if dim < 1 || dim > maxDim {
		return nil, check.Option("dim", dim, "want 1 to %d", maxDim)
	}
	if o.Precision == 0 {
		o.Precision = Float32
	}
	if o.Oversample == 0 {
		o.Oversample = 4
	}
	switch {
	case o.Precision > Binary:
		return nil, check.Option("Precision", o.Precision, "want float32, int8 or binary")
	case o.Rescore != 0 && o.Rescore != Float32 && o.Rescore != Int8:
		return nil, check.Option("Rescore", o.Rescore, "want float32, int8 or nothing")
	case o.Rescore != 0 && o.Rescore >= o.Precision:
		return nil, check.Option("Rescore", o.Rescore, "want more bits than %v has", o.Precision)
	case o.Oversample < 1:
		return nil, check.Option("Oversample", o.Oversample, "want at least 1")
	case o.Threads < 0:
		return nil, check.Option("Threads", o.Threads, "want at least 0")
	}
	if err := checkFingerprint(o.Fingerprint); err != nil {
		return nil, err
	}
	x := &Index{dim: dim, options: o}
	x.reset()
	return x, nil
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

// Dim returns how many numbers a vector has.
func (x *Index) Dim() int { return x.dim }

// Options returns the options of the index, with defaults in place of zeros.
func (x *Index) Options() Options { return x.options }

// Len returns how many vectors the index has.
func (x *Index) Len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.count - x.gone
}

// Add adds all vectors or, with an error, none. ids are their ids; if ids is nil, these are their positions, from 0 on. An index has either
// kind of ids, not both. An id may occur more than once: a hit is a vector. Numbers must be finite, and for Int8 at most 8.3e6, the limit
// of a scale of 16 bits. The vectors are copied.
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

// add is Add of vectors that were checked, under the lock.
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

// CheckVectors returns the error that Add and Replace would return for these vectors, nil if there is none.
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

// largest is the largest magnitude of a vector's numbers.
func (x *Index) largest() float32 {
	if x.options.Precision == Int8 || x.options.Rescore == Int8 {
		return maxInt8
	}
	return math.MaxFloat32
}

// check returns an error unless v can be a vector of the index, with numbers of at most most.
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
