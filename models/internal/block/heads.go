package block

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Heads: what turns hidden states into logits and pooled vectors; and pooling, one vector for all
// rows of a sequence.

// Head pools the rows of each sequence, or takes every row, and passes them through those of its
// layers that are not nil.
type Head struct {
	Dim   int     // width of the hidden states; 0: as dense or out want it
	Pool  Pooling // nil: every row is a result
	Dense *transformer.Linear
	Act   func(t kernels.Threads, x []float32) // in place
	Norm  *transformer.Norm
	Last  *transformer.Linear
}

func (h *Head) Out() int {
	switch {
	case h.Last != nil:
		return h.Last.Out
	case h.Dense != nil:
		return h.Dense.Out
	}
	return h.Dim
}

func (h *Head) Forward(ws *transformer.Workspace, dst, x []float32, in transformer.Tokens) error {
	defer ws.Release(ws.Mark())
	dim := h.width()
	if len(x) != in.Batch.Rows()*dim {
		return check.Errorf(fault.ErrShape, "%d hidden states for %d rows of %d", len(x), in.Batch.Rows(), dim)
	}
	if h.Pool != nil {
		pooled := ws.Alloc(in.Batch.Len() * dim) // [sequences, D]
		if err := h.Pool(pooled, x, in, dim, 0); err != nil {
			return err
		}
		x = pooled
	}
	if h.Dense != nil {
		y := dst // [results, D]
		if h.Last != nil {
			y = ws.Alloc(len(x) / dim * h.Dense.Out) // [results, width of dense]
		}
		if err := h.Dense.Forward(ws, y, x); err != nil { // [results, width of dense]
			return err
		}
		x = y
	} else if h.Last == nil {
		if len(dst) != len(x) {
			return check.Errorf(fault.ErrShape, "dst has %d elements, want %d results of %d", len(dst), len(x)/dim, dim)
		}
		copy(dst, x)
		x = dst
	}
	if h.Act != nil {
		h.Act(ws.Threads, x)
	}
	if h.Norm != nil {
		if err := h.Norm.Forward(ws, x, x); err != nil { // [results, width of dense or D]
			return err
		}
	}
	if h.Last == nil {
		return nil
	}
	return h.Last.Forward(ws, dst, x) // [results, labels]
}

// width is that of the hidden states.
func (h *Head) width() int {
	switch {
	case h.Dim != 0:
		return h.Dim
	case h.Dense != nil:
		return h.Dense.In
	}
	return h.Last.In
}

// Activate applies an activation in place.
func Activate(a kernels.Activation) func(t kernels.Threads, x []float32) {
	return func(t kernels.Threads, x []float32) { transformer.Activate(t, a, x) }
}

func Tanh(t kernels.Threads, x []float32) { t.Tanh(x, x) }

// Answer returns the head of question answering: whether an answer starts and ends at a token.
func Answer(l *transformer.Loader, dim int) *Head {
	return &Head{Last: l.At("qa_outputs.").Linear(dim, 2, true)}
}

// A Pooling sets dst, [sequences, dim], to a vector for each sequence of x, [rows, dim], the hidden
// states of in, without the first skip rows of each.
type Pooling func(dst, x []float32, in transformer.Tokens, dim, skip int) error

// pooled makes a pooling of what it does with the rows of one sequence, one at least, the first of
// which has a number.
func pooled(f func(dst, rows []float32, first int)) Pooling {
	return func(dst, x []float32, in transformer.Tokens, dim, skip int) error {
		return eachSequence(dst, x, in.Batch, dim, skip, func(_ int, dst, rows []float32) error {
			f(dst, rows, skip)
			return nil
		})
	}
}

// eachSequence calls f for each sequence of a batch with its part of dst, [sequences, dim], and its
// rows of x, [rows, dim], except for the first skip of them.
func eachSequence(dst, x []float32, batch transformer.Batch, dim, skip int, f func(i int, dst, rows []float32) error) error {
	if len(x) != batch.Rows()*dim || len(dst) != batch.Len()*dim {
		return check.Errorf(fault.ErrShape, "pooling of %d elements to %d, want rows and sequences of %d", len(x), len(dst), dim)
	}
	for i := range batch.Len() {
		if batch.Length(i) <= skip {
			return check.Errorf(fault.ErrShape, "sequence %d has %d rows, none to pool after %d", i, batch.Length(i), skip)
		}
		if err := f(i, dst[i*dim:(i+1)*dim], x[(batch.Start(i)+skip)*dim:batch.Start(i+1)*dim]); err != nil {
			return err
		}
	}
	return nil
}

// PoolAt takes the row of one token of each sequence: that at the index which at finds among the
// tokens, or -1.
func PoolAt(at func(tokens []int) int) Pooling {
	return func(dst, x []float32, in transformer.Tokens, dim, skip int) error {
		if len(in.IDs) != in.Batch.Rows() {
			return check.Errorf(fault.ErrShape, "%d tokens in a batch of %d rows", len(in.IDs), in.Batch.Rows())
		}
		return eachSequence(dst, x, in.Batch, dim, skip, func(i int, dst, rows []float32) error {
			row := at(in.IDs[in.Batch.Start(i)+skip : in.Batch.Start(i+1)])
			if row < 0 {
				return check.Errorf(fault.ErrShape, "sequence %d lacks the token whose hidden state counts", i)
			}
			copy(dst, rows[row*dim:])
			return nil
		})
	}
}

// LastBut returns the index of the last token that is not pad; 0 where all are.
func LastBut(pad int) func(tokens []int) int {
	return func(tokens []int) int {
		for i, t := range slices.Backward(tokens) {
			if t != pad {
				return i
			}
		}
		return 0
	}
}

// LastOf returns the index of the last token that is end; -1 if no token is.
func LastOf(end int) func(tokens []int) int {
	return func(tokens []int) int {
		for i, t := range slices.Backward(tokens) {
			if t == end {
				return i
			}
		}
		return -1
	}
}

var (
	PoolFirst = pooled(func(dst, rows []float32, _ int) { copy(dst, rows) })
	PoolLast  = pooled(func(dst, rows []float32, _ int) { copy(dst, rows[len(rows)-len(dst):]) })
	poolMax   = pooled(func(dst, rows []float32, _ int) {
		copy(dst, rows)
		for i, v := range rows {
			d := i % len(dst)
			dst[d] = max(dst[d], v)
		}
	})
	PoolMean     = pooled(func(dst, rows []float32, _ int) { weighted(dst, rows, same, float64(len(rows)/len(dst))) })
	poolMeanSqrt = pooled(func(dst, rows []float32, _ int) {
		weighted(dst, rows, same, math.Sqrt(float64(len(rows)/len(dst))))
	})
	// Later rows weigh more: row i of a sequence as much as i+1.
	poolWeightedMean = pooled(func(dst, rows []float32, first int) {
		n := len(rows) / len(dst)
		weighted(dst, rows, func(row int) float64 { return float64(first + row + 1) }, float64(n*(2*first+n+1)/2))
	})
)

func same(int) float64 { return 1 }

// weighted sets dst to the sum of rows, each times its weight, over total.
func weighted(dst, rows []float32, weight func(row int) float64, total float64) {
	n := len(rows) / len(dst)
	for d := range dst {
		sum := 0.0
		for r := range n {
			sum += float64(weight(r) * float64(rows[r*len(dst)+d]))
		}
		dst[d] = float32(sum / total)
	}
}

// NormalizeRows divides each row of x by its Euclidean length, or 1e-12 if that is more.
func NormalizeRows(x []float32, dim int) {
	for ; len(x) > 0; x = x[dim:] {
		sum := 0.0
		for _, v := range x[:dim] {
			sum += float64(v) * float64(v)
		}
		length := max(math.Sqrt(sum), 1e-12)
		for i := range dim {
			x[i] = float32(float64(x[i]) / length)
		}
	}
}

// Poolings are the modes of sentence-transformers' Pooling by their names.
var Poolings = map[string]Pooling{"cls": PoolFirst, "max": poolMax, "mean": PoolMean, "mean_sqrt_len_tokens": poolMeanSqrt, "weightedmean": poolWeightedMean, "lasttoken": PoolLast}
