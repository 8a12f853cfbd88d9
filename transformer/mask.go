package transformer

import "math"

// A Mask tells which keys each query sees, and may add a bias to the scores. It
// is made only by the named constructors below, because the conventions in use
// contradict one another: 0, 1, true and false all mean "hidden" somewhere. A
// nil *Mask hides nothing. Masks are immutable.
//
// Masks with data have a shape [B, heads, queries, keys]. A size of 1 holds for
// all; else it is the size of the batch, or for queries and keys the length of
// its longest sequence. Keys that a cache holds count as keys.
type Mask struct {
	terms []maskTerm // a key is seen if all terms admit it; biases add up
	empty EmptyRow
}

// EmptyRow is what attention gives for a query that sees no key.
type EmptyRow uint8

// The choices for a query that sees no key.
const (
	EmptyZero    EmptyRow = iota // weights and output 0
	EmptyNaN                     // weights and output NaN, as PyTorch's softmax of -Inf
	EmptyUniform                 // all keys alike, hidden or not: Keras and d2l, which hide by large numbers
)

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
}

// unbounded is a distance that no sequence reaches. Sums with positions stay
// within an int of 32 bits.
const unbounded = math.MaxInt32 / 2

// Causal hides the keys behind a query's own position. A query's position is
// its index plus the number of positions that the cache held before.
func Causal() *Mask { return window(unbounded, 0) }

// SlidingWindow is Causal that also hides keys more than size-1 positions back.
// Its cost grows with the size, not with the length of the sequence.
func SlidingWindow(size int) *Mask { return window(max(size, 1)-1, 0) }

// LocalWindow hides the keys more than before positions in front of the query
// or more than after positions behind it.
func LocalWindow(before, after int) *Mask { return window(before, after) }

func window(before, after int) *Mask {
	clamp := func(n int) int { return min(max(n, 0), unbounded) }
	return &Mask{terms: []maskTerm{{window: true, before: clamp(before), after: clamp(after)}}}
}

// KeepMask hides the keys where keep, of shape [batch, heads, queries, keys],
// is false: Hugging Face's attention_mask, or masked_fill(mask == 0, -inf).
func KeepMask(keep []bool, batch, heads, queries, keys int) *Mask {
	return &Mask{terms: []maskTerm{{keep: keep, shape: [4]int{batch, heads, queries, keys}}}}
}

// BlockMask hides the keys where blocked, of shape [batch, heads, queries,
// keys], is true: torch.nn's key_padding_mask and attn_mask.
func BlockMask(blocked []bool, batch, heads, queries, keys int) *Mask {
	keep := make([]bool, len(blocked))
	for i, b := range blocked {
		keep[i] = !b
	}
	return KeepMask(keep, batch, heads, queries, keys)
}

// AdditiveMask adds bias, of shape [batch, heads, queries, keys], to the scaled
// scores: torch.nn's float attn_mask, ALiBi, or BERT's 0 and -10000. A bias of
// -Inf hides a key.
func AdditiveMask(bias []float32, batch, heads, queries, keys int) *Mask {
	return &Mask{terms: []maskTerm{{bias: bias, shape: [4]int{batch, heads, queries, keys}}}}
}

// BERTMask is the mask that Hugging Face's BERT makes of attention_mask, keep
// of shape [batch, length], 1 = visible: -10000 is added to the other keys'
// scores. So a query whose keys are all hidden attends to them nearly as if
// they were visible; use KeepMask where that is not wanted.
func BERTMask(keep []bool, batch, length int) *Mask {
	bias := make([]float32, len(keep))
	for i, k := range keep {
		if !k {
			bias[i] = -10000
		}
	}
	return AdditiveMask(bias, batch, 1, 1, length)
}

// KerasMask hides the keys where mask, of shape [batch, heads, queries, keys],
// is not 0, which stands for adding -1e9 in float32: a query that sees no key
// attends to all of them alike.
func KerasMask(mask []float32, batch, heads, queries, keys int) *Mask {
	keep := make([]bool, len(mask))
	for i, m := range mask {
		keep[i] = m == 0
	}
	return KeepMask(keep, batch, heads, queries, keys).WithEmpty(EmptyUniform)
}

// ValidLengths hides from sequence i the keys at index lengths[i] and behind.
func ValidLengths(lengths ...int) *Mask {
	return &Mask{terms: []maskTerm{{lengths: lengths}}}
}

// ValidLengthsPerQuery hides from query q of sequence i the keys at index
// lengths[i*queries+q] and behind. lengths is [batch, queries], where queries
// is the length of the longest sequence.
func ValidLengthsPerQuery(lengths []int, queries int) *Mask {
	return &Mask{terms: []maskTerm{{lengths: lengths, queries: max(queries, 1)}}}
}

// D2LMask is ValidLengths where a query that sees no key attends to all of them
// alike, as in d2l, which sets the hidden scores to -1e6.
func D2LMask(lengths ...int) *Mask { return ValidLengths(lengths...).WithEmpty(EmptyUniform) }

// And is the mask that hides what m or another hides, and adds the biases of
// both. Rows with nothing visible are treated as by m. Either may be nil.
func (m *Mask) And(other *Mask) *Mask {
	switch {
	case m == nil:
		return other
	case other == nil:
		return m
	}
	terms := append(append([]maskTerm{}, m.terms...), other.terms...)
	return &Mask{terms, m.empty}
}

// WithEmpty is m with another treatment of queries that see no key. The default
// is EmptyZero.
func (m *Mask) WithEmpty(e EmptyRow) *Mask {
	if m == nil {
		m = &Mask{}
	}
	return &Mask{m.terms, e}
}

// check returns an error unless the data of m fits the batch.
func (m *Mask) check(batch, heads, maxQ, maxK int) error {
	if m == nil {
		return nil
	}
	want := [4]int{batch, heads, maxQ, maxK}
	for _, t := range m.terms {
		switch {
		case t.lengths != nil || t.queries > 0:
			n := batch
			if t.queries > 0 {
				n *= maxQ
			}
			if t.queries > 0 && t.queries != maxQ || len(t.lengths) != n {
				return errorf(ErrShape, "mask of %d valid lengths for %d sequences of up to %d queries", len(t.lengths), batch, maxQ)
			}
		case !t.window:
			n := 1
			for i, s := range t.shape {
				if s != 1 && s != want[i] {
					return errorf(ErrShape, "mask of shape %v, want 1 or the size of %v [batch, heads, queries, keys]", t.shape, want)
				}
				n *= s
			}
			if len(t.keep)+len(t.bias) != n {
				return errorf(ErrShape, "mask has %d elements, its shape is %v", len(t.keep)+len(t.bias), t.shape)
			}
		}
	}
	return nil
}

// keys is the range of keys that queries [q, q+n) of sequence b may see: all
// outside are hidden. The first query's position is pos, and lenK keys exist.
func (m *Mask) keys(b, q, n, pos, lenK int) (lo, hi int) {
	lo, hi = 0, lenK
	if m == nil || m.empty == EmptyUniform { // which needs the hidden ones too
		return lo, hi
	}
	for _, t := range m.terms {
		switch {
		case t.window:
			lo = max(lo, pos-t.before)
			hi = min(hi, pos+n-1+t.after+1)
		case t.queries > 0:
			longest := 0
			for _, l := range t.lengths[b*t.queries+q : b*t.queries+q+n] {
				longest = max(longest, l)
			}
			hi = min(hi, longest)
		case t.lengths != nil:
			hi = min(hi, t.lengths[b])
		}
	}
	hi = max(hi, 0)
	return min(lo, hi), hi
}

// apply hides scores of a query and adds the biases. scores holds keys lo and
// up; h is the head, q the query's index, pos its position.
func (m *Mask) apply(scores []float32, b, h, q, pos, lo int) {
	for i := range m.terms {
		t := &m.terms[i]
		switch {
		case t.window:
			hide(scores, max(pos-t.before, 0)-lo, pos+t.after+1-lo)
		case t.queries > 0:
			hide(scores, 0, t.lengths[b*t.queries+q]-lo)
		case t.lengths != nil:
			hide(scores, 0, t.lengths[b]-lo)
		case t.keep != nil:
			row, step := t.row(b, h, q)
			for j := range scores {
				if !t.keep[row+(lo+j)*step] {
					scores[j] = hiddenScore
				}
			}
		default:
			row, step := t.row(b, h, q)
			for j := range scores {
				scores[j] += t.bias[row+(lo+j)*step]
			}
		}
	}
}

// row is where the data for a query starts, and the step from key to key.
func (t *maskTerm) row(b, h, q int) (start, step int) {
	index := [4]int{b, h, q, 0}
	for i, s := range t.shape {
		if s == 1 {
			index[i] = 0
		}
		start = start*s + index[i]
	}
	if t.shape[3] > 1 {
		step = 1
	}
	return start, step
}

var hiddenScore = float32(math.Inf(-1))

// hide hides all scores but those in [from, to).
func hide(scores []float32, from, to int) {
	from = min(max(from, 0), len(scores))
	to = min(max(to, from), len(scores))
	for j := range scores[:from] {
		scores[j] = hiddenScore
	}
	for j := to; j < len(scores); j++ {
		scores[j] = hiddenScore
	}
}

// allHidden reports whether no score is above -Inf. NaN counts as visible.
func allHidden(scores []float32) bool {
	for _, s := range scores {
		if s != hiddenScore {
			return false
		}
	}
	return true
}

// fill sets the weights of a query that sees no key.
func (e EmptyRow) fill(weights []float32) {
	v := float32(0)
	switch e {
	case EmptyNaN:
		v = float32(math.NaN())
	case EmptyUniform:
		v = 1 / float32(len(weights))
	}
	for j := range weights {
		weights[j] = v
	}
}
