// Package attend computes attention.
//
//   - call.go has the arguments, and the decisions that apply to a whole call.
//   - plan.go cuts a call into pieces and chooses how to compute each.
//   - run.go hands the pieces to threads, and splits.go merges pieces that share a row of the
//     result.
//   - unit.go computes one piece, and keys.go finds its keys and values.
//   - tiles.go, weights.go and short.go are the ways to compute a piece. They use panels.go for
//     scores, products.go for values, relative.go, mask.go and, for products of integers,
//     integers.go.
//   - fetch.go and queue.go prefetch the memory that is used next.
package attend

// This file has the arguments of a call, and the decisions that apply to all of it.

import (
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/kv"
	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// Strides holds the distances between the rows of a tensor of [batch, heads, length, dim].
type Strides struct{ Batch, Head, Row int }

// Offset returns the index of a row's first element.
func Offset(s Strides, b, h, i int) int { return b*s.Batch + h*s.Head + i*s.Row }

// EmptyRow is the result for a query that sees no key.
type EmptyRow uint8

// These are the choices, in the order of package kernels.
const (
	EmptyZero EmptyRow = iota
	EmptyNaN
	EmptyUniform
)

// Sequence describes a sequence if lengths differ, or if keys and values are in pages.
type Sequence struct {
	LenQ, LenK, Past int
	Query, Key       int // the first rows of its queries and outputs, and of its keys and values
	Pages            []int32
}

// Params is kernels.AttentionParams, checked and with its defaults.
type Params struct {
	Batch, Heads                             int
	LenQ, LenK                               int
	HeadDim                                  int
	Dst                                      []float32
	Q, K, V                                  []float32
	DstStrides, QStrides, KStrides, VStrides Strides
	Sequences                                []Sequence
	KPages, VPages                           *kv.Pages
	KVHeads                                  int
	ValueDim                                 int
	Scale                                    float32
	Past                                     int
	Mask                                     []mask.Term
	Empty                                    EmptyRow
	HeadMask, Sinks                          []float32
	Relative                                 []float32
	RelativeKeys                             bool
	Weights                                  []float32
	Int8                                     bool
}

// strategy is a way to compute a unit.
type strategy uint8

const (
	attendTiles   strategy = iota // tile by tile of keys, with a running maximum and sum
	attendWeights                 // in three passes, for callers that want the weights
	attendShort                   // a whole head: its scores, then one call of the assembly with vectors of queries
	attendFew                     // a whole head: its scores, then one call of the assembly with vectors of keys
)

// Call is one call, checked and not empty.
//
// The work is cut into units: the queries [i, i+rows) of one head. If each head has only one query,
// or few queries on keys in pages, a unit has the queries of all heads that share a key head: the
// first query of each, then the second. If there are few queries and few heads, each stretch of the
// keys is a split, and the results of the splits are merged at the end. One split of one unit is a
// piece. The division of the work does not change results, which package order defines.
type Call struct {
	P      Params
	isa    simd.ISA
	mr, nr int            // the tile of the micro-kernel
	int8   weights.Record // the record for products of integers
	groups []group        // the groups of the sequences with queries
	parts  int            // number of parts of the parallel loop

	partial []float32 // the results of the pieces, if there are several splits
}

// group has sequences of the same lengths, and the division of their work. It has all sequences of
// a call, or a single one if the call describes each sequence; then the result of a sequence does
// not depend on the other sequences.
type group struct {
	seq              int // the first sequence
	lenQ, lenK, past int
	way              strategy

	fold    int  // query heads in a unit
	rows    int  // query rows of a unit, except the last of a head
	chunks  int  // units of a head
	units   int  // units of all heads and sequences
	tile    int  // keys of a tile: a block
	stretch int  // keys of a stretch
	splits  int  // splits of a unit: 1, or the number of stretches
	split   int  // keys of a split
	strip   int  // rows that are scored at a time
	perPart int  // pieces in one part of the parallel loop
	ints    bool // products multiply integers
	dots    bool // scores are dot products
	joins   bool // a thread computes neighbouring units as one

	part    int // the first part
	partial int // the index in Call.partial of the pieces' results, if there are several splits
}

// interleaved reports whether the rows of a unit are several queries of several heads. They are
// then copied together.
func (g *group) interleaved() bool { return g.fold > 1 && g.lenQ > 1 }

// partsEnd returns the part after the last of the group.
func (g *group) partsEnd() int { return g.part + (g.units*g.splits+g.perPart-1)/g.perPart }

// row returns the index of the first element of a row of queries or outputs.
func (c *Call) row(s Strides, seq, head, i int) int {
	if c.P.Sequences != nil {
		return (c.P.Sequences[seq].Query+i)*s.Row + head*s.Head
	}
	return Offset(s, seq, head, i)
}

var calls = sync.Pool{New: func() any { return new(Call) }}

// New returns a call without arguments, which the caller sets.
func New() *Call { return calls.Get().(*Call) }
