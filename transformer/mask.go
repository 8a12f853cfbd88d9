package transformer

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/kernels"
)

// A Mask says which keys each query sees, and may add a bias to the scores. It is made only by the
// named constructors below, because the conventions in use contradict one another: 0, 1, true and
// false all mean "hidden" somewhere. A nil *Mask hides nothing. Masks are immutable.
//
// Masks with data keep the slice and have a shape [B, heads, queries, keys]. A size of 1 applies to
// all; any other size is that of the batch, or for queries and keys the length of its longest
// sequence. Keys in a cache count as keys.
type Mask struct {
	terms []maskTerm // a key is seen if all terms admit it; biases add up
	empty kernels.EmptyRow
	spans []Span // whose rows no window hides from those before them in the same span
}

// A Span is the rows [From, To) of a batch, all of one sequence.
type Span struct{ From, To int }

// A maskTerm is one condition: exactly one of its kinds is set.
type maskTerm struct {
	keep    []bool    // true = visible; of shape
	bias    []float32 // added to the score; of shape
	shape   [4]int
	lengths []int // keys that are visible, per sequence or
	queries int   // if > 0 per query: [B, queries]
	window  bool  // keys from position-before to position+after
	before  int
	after   int
	slopes  []float32 // ALiBi's, per head
}

// unbounded is a distance that no sequence reaches. Sums of it and positions fit into an int of 32
// bits.
const unbounded = 1 << 29

// Causal hides the keys after a query's own position. A query's position is its index plus the
// number of positions that the cache held before.
func Causal() *Mask { return window(unbounded, 0) }

// SlidingWindow is Causal, and also hides keys more than size-1 positions back. Its cost grows with
// the size, not with the length of the sequence.
func SlidingWindow(size int) *Mask { return window(max(size, 1)-1, 0) }

// LocalWindow hides the keys more than before positions in front of the query or more than after
// positions past it.
func LocalWindow(before, after int) *Mask { return window(before, after) }

func window(before, after int) *Mask {
	clamp := func(n int) int { return min(max(n, 0), unbounded) }
	return &Mask{terms: []maskTerm{{window: true, before: clamp(before), after: clamp(after)}}}
}

// KeepMask hides the keys where keep, of shape [batch, heads, queries, keys], is false: Hugging
// Face's attention_mask, or masked_fill(mask
// == 0, -inf). In this module only models/classic uses it: other batches have no padding.
func KeepMask(keep []bool, batch, heads, queries, keys int) *Mask {
	return &Mask{terms: []maskTerm{{keep: keep, shape: [4]int{batch, heads, queries, keys}}}}
}

// BlockMask hides the keys where blocked, of shape [batch, heads, queries, keys], is true:
// torch.nn's key_padding_mask and attn_mask. It is for models/classic, as KeepMask is.
func BlockMask(blocked []bool, batch, heads, queries, keys int) *Mask {
	keep := make([]bool, len(blocked))
	for i, b := range blocked {
		keep[i] = !b
	}
	return KeepMask(keep, batch, heads, queries, keys)
}

// AdditiveMask adds bias, of shape [batch, heads, queries, keys], to the scaled scores: torch.nn's
// float attn_mask, ALiBi, or BERT's 0 and -10000. A bias of -Inf hides a key.
func AdditiveMask(bias []float32, batch, heads, queries, keys int) *Mask {
	return &Mask{terms: []maskTerm{{bias: bias, shape: [4]int{batch, heads, queries, keys}}}}
}

// ValidLengths hides from sequence i the keys at index lengths[i] and after. It is for
// models/classic, as KeepMask is.
func ValidLengths(lengths ...int) *Mask {
	if lengths == nil { // of a batch without sequences
		lengths = []int{}
	}
	return &Mask{terms: []maskTerm{{lengths: lengths}}}
}

// ValidLengthsPerQuery hides from query q of sequence i the keys at index lengths[i*queries+q] and
// after. lengths is [batch, queries], where queries is the length of the longest sequence. It is
// for models/classic, as KeepMask is.
func ValidLengthsPerQuery(lengths []int, queries int) *Mask {
	return &Mask{terms: []maskTerm{{lengths: lengths, queries: max(queries, 1)}}}
}

// ALiBi adds to the scores of head h minus slopes[h] times the distance between query and key
// (Press et al., 2022). It hides nothing: see Causal. No model here uses it.
func ALiBi(slopes ...float32) *Mask { return &Mask{terms: []maskTerm{{slopes: slopes}}} }

// ALiBiSlopes returns the slopes of the paper, 2^(-8h/heads) for h from 1 to heads, which must be a
// power of 2.
func ALiBiSlopes(heads int) []float32 {
	slopes := make([]float32, heads)
	for h := range slopes {
		slopes[h] = float32(elementary.Pow(2, -8*float64(h+1)/float64(heads)))
	}
	return slopes
}

// And returns the mask that hides the keys that m or another hides, and adds the biases of both. It
// treats rows that see no key as m does. Either may be nil.
func (m *Mask) And(other *Mask) *Mask {
	switch {
	case m == nil:
		return other
	case other == nil:
		return m
	}
	terms := append(append([]maskTerm{}, m.terms...), other.terms...)
	spans := append(append([]Span{}, m.spans...), other.spans...)
	return &Mask{terms, m.empty, spans}
}

// Joined returns m with spans whose rows also see those after them in the same span, such as the
// tokens of an image. m is [Causal], or a [SlidingWindow], which keeps hiding what is too far in
// front of a row. Spans are in the order of their rows, and do not overlap.
func (m *Mask) Joined(spans ...Span) *Mask {
	if len(spans) == 0 {
		return m
	}
	return &Mask{m.terms, m.empty, spans}
}

// WithEmpty returns m with another treatment of queries that see no key. The default is
// kernels.EmptyZero; only models/classic uses other values.
func (m *Mask) WithEmpty(e kernels.EmptyRow) *Mask {
	if m == nil {
		m = &Mask{}
	}
	return &Mask{m.terms, e, m.spans}
}

// check returns an error unless the data of m fits the batch, whose longest sequence attends to
// maxK keys.
func (m *Mask) check(b Batch, heads, maxK int) error {
	if m == nil {
		return nil
	}
	if err := m.checkSpans(b); err != nil {
		return err
	}
	batch, maxQ := b.Len(), b.MaxLength()
	want := [4]int{batch, heads, maxQ, maxK}
	for _, t := range m.terms {
		switch {
		case t.lengths != nil || t.queries > 0:
			n := batch
			if t.queries > 0 {
				n *= maxQ
			}
			if t.queries > 0 && t.queries != maxQ || len(t.lengths) != n {
				return check.Errorf(fault.ErrShape, "mask of %d valid lengths for %d sequences of up to %d queries", len(t.lengths), batch, maxQ)
			}
		case t.slopes != nil:
			if len(t.slopes) != heads {
				return check.Errorf(fault.ErrShape, "%d slopes for %d heads", len(t.slopes), heads)
			}
		case !t.window:
			n := 1
			for i, s := range t.shape {
				if s != 1 && s != want[i] {
					return check.Errorf(fault.ErrShape, "mask of shape %v, want 1 or the size of %v [batch, heads, queries, keys]", t.shape, want)
				}
				n *= s
			}
			if len(t.keep)+len(t.bias) != n {
				return check.Errorf(fault.ErrShape, "mask has %d elements, its shape is %v", len(t.keep)+len(t.bias), t.shape)
			}
		}
	}
	return nil
}

// checkSpans returns an error unless the spans are in order, each within one sequence, and m is a
// mask that they may change.
func (m *Mask) checkSpans(b Batch) error {
	if len(m.spans) > 0 && (!m.causal() || slices.ContainsFunc(m.terms, func(t maskTerm) bool { return !t.window })) {
		return check.Errorf(fault.ErrShape, "spans of a mask that is not Causal or a SlidingWindow")
	}
	end, sequence := 0, 0
	for _, s := range m.spans {
		for sequence < b.Len() && b.Start(sequence+1) <= s.From {
			sequence++
		}
		if s.From < end || s.To < s.From || sequence == b.Len() && s.To > s.From || sequence < b.Len() && s.To > b.Start(sequence+1) {
			return check.Errorf(fault.ErrShape, "span of rows %d to %d: want spans in order, each within a sequence", s.From, s.To)
		}
		end = s.To
	}
	return nil
}

// ofPositions reports whether the keys that m shows a query depend only on the position and the
// sequence of the query, so that m may be lowered for some of the queries.
func (m *Mask) ofPositions() bool {
	if m == nil {
		return true
	}
	for _, t := range m.terms {
		if !t.window && t.slopes == nil && (t.lengths == nil || t.queries > 0) {
			return false
		}
	}
	return true
}

// causal reports whether m hides the keys after each query, and depends only on positions.
func (m *Mask) causal() bool {
	if m == nil {
		return false
	}
	after := false
	for _, t := range m.terms {
		if !t.window && t.slopes == nil {
			return false
		}
		after = after || t.window && t.after <= 0
	}
	return after
}

// joins reports whether m has spans.
func (m *Mask) joins() bool { return m != nil && len(m.spans) > 0 }

// spelled returns a mask without spans that hides the same keys. pastOf returns how many keys of a
// sequence come before its queries.
func (m *Mask) spelled(b Batch, maxK int, pastOf func(i int) int) *Mask {
	maxQ := b.MaxLength()
	keep := make([]bool, b.Len()*maxQ*maxK) // [B, 1, queries, keys]
	for i := range b.Len() {
		past := pastOf(i)
		for q := range b.Length(i) {
			from, to := 0, past+q+1
			for _, t := range m.terms {
				if t.window {
					from = max(from, past+q-t.before)
				}
			}
			for _, s := range m.spans {
				if row := b.Start(i) + q; s.From <= row && row < s.To {
					to = past + s.To - b.Start(i)
				}
			}
			for k := from; k < to; k++ {
				keep[(i*maxQ+q)*maxK+k] = true
			}
		}
	}
	return KeepMask(keep, b.Len(), 1, maxQ, maxK).WithEmpty(m.empty)
}

// lower appends the terms of m for sequences [first, first+n) of a batch, which have lenQ queries
// and lenK keys each. Where these are fewer than the mask's, its data is copied. joined leaves the
// keys after each query visible.
func (m *Mask) lower(terms []kernels.MaskTerm, first, n, lenQ, lenK int, joined bool) []kernels.MaskTerm {
	if m == nil {
		return terms
	}
	for _, t := range m.terms {
		switch {
		case t.window && joined:
			terms = append(terms, kernels.WindowMask(t.before, unbounded))
		case t.window:
			terms = append(terms, kernels.WindowMask(t.before, t.after))
		case t.slopes != nil:
			terms = append(terms, kernels.ALiBiMask(t.slopes))
		case t.queries > 0 && t.queries == lenQ:
			terms = append(terms, kernels.QueryLengthMask(t.lengths[first*lenQ:(first+n)*lenQ]))
		case t.queries > 0:
			var lengths []int
			for b := first; b < first+n; b++ {
				lengths = append(lengths, t.lengths[b*t.queries:b*t.queries+lenQ]...)
			}
			terms = append(terms, kernels.QueryLengthMask(lengths))
		case t.lengths != nil:
			terms = append(terms, kernels.LengthMask(t.lengths[first:first+n]))
		default:
			shape := t.shape
			for i, size := range [4]int{n, shape[1], lenQ, lenK} {
				if shape[i] != 1 {
					shape[i] = size
				}
			}
			if t.keep != nil {
				terms = append(terms, kernels.KeepMask(part(t.keep, t.shape, first, shape), shape[0], shape[1], shape[2], shape[3]))
			} else {
				terms = append(terms, kernels.BiasMask(part(t.bias, t.shape, first, shape), shape[0], shape[1], shape[2], shape[3]))
			}
		}
	}
	return terms
}

// part returns the first elements along each axis of x but the first, where it is those from first
// on: x itself where they are contiguous.
func part[T any](x []T, from [4]int, first int, to [4]int) []T {
	if from[0] == 1 {
		first = 0
	}
	if from[2] == to[2] && from[3] == to[3] {
		size := from[1] * from[2] * from[3]
		return x[first*size : (first+to[0])*size]
	}
	y := make([]T, 0, check.Product(to[:]))
	for b := range to[0] {
		for h := range to[1] {
			for q := range to[2] {
				row := (((first+b)*from[1]+h)*from[2] + q) * from[3]
				y = append(y, x[row:row+to[3]]...)
			}
		}
	}
	return y
}
