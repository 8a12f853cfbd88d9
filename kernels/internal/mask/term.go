// Package mask has the terms of the masks of attention and of the masked softmax: conditions on the
// keys that a query sees, and biases on its scores.
package mask

import (
	"math"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Term is MaskTerm of package kernels: a condition on the keys that a query sees, or a bias on its
// scores.
type Term struct {
	Kind          Kind
	Before, After int
	Lengths       []int
	Keep          []bool
	Bias          []float32
	Shape         [4]int
}

// Kind is the kind of a term.
type Kind uint8

// These are the kinds, named after the constructors of MaskTerm.
const (
	None Kind = iota // hides nothing
	Window
	Lengths
	QueryLengths
	Keep
	Blocked
	Bias
	ALiBi
)

// Unlimited is a distance that no sequence reaches, in either direction. The sum of Unlimited and a
// position fits an int of 32 bits.
const Unlimited = 1 << 29

// Row returns the index of the first datum for a query, and the step from key to key.
func (t *Term) Row(b, h, q int) (start, step int) {
	if t.Shape[0] > 1 {
		start = b
	}
	if start *= t.Shape[1]; t.Shape[1] > 1 {
		start += h
	}
	if start *= t.Shape[2]; t.Shape[2] > 1 {
		start += q
	}
	if start *= t.Shape[3]; t.Shape[3] > 1 {
		step = 1
	}
	return start, step
}

// ByQuery reports whether the queries of a head may see different keys because of the term.
func (t *Term) ByQuery() bool {
	return t.Kind == Window || t.Kind == QueryLengths || (t.Kind == Keep || t.Kind == Blocked) && t.Shape[2] > 1
}

// Interval narrows [lo, hi) to the keys that query q of sequence b may see, if the term is an
// interval. The result may be empty, lo >= hi.
func (t *Term) Interval(b, q, lenQ, past, lo, hi int) (int, int) {
	switch t.Kind {
	case Window:
		lo = max(lo, q+past-t.Before)
		hi = min(hi, q+past+t.After+1)
	case Lengths:
		hi = min(hi, t.Lengths[b])
	case QueryLengths:
		hi = min(hi, t.Lengths[b*lenQ+q])
	}
	return lo, hi
}

// Hides reports whether a boolean term hides all of the keys [from, to) from the query.
func (t *Term) Hides(b, h, q, from, to int) bool {
	blocked := t.Kind == Blocked
	at, step := t.Row(b, h, q)
	if step == 0 {
		return t.Keep[at] == blocked
	}
	for _, k := range t.Keep[at+from : at+to] {
		if k != blocked {
			return false
		}
	}
	return true
}

// Hide sets the scores to v for the keys from, from+1, … that a boolean term hides, or that have a
// bias of -Inf.
func (t *Term) Hide(scores []float32, v float32, b, h, q, from int) {
	blocked := t.Kind == Blocked
	at, step := t.Row(b, h, q)
	if t.Kind == Bias {
		for j := range scores {
			if t.Bias[at+step*(from+j)] < -math.MaxFloat32 {
				scores[j] = v
			}
		}
		return
	}
	if step == 0 {
		if t.Keep[at] == blocked {
			mem.Fill(scores, v)
		}
		return
	}
	for j, k := range t.Keep[at+from:][:len(scores)] {
		if k == blocked {
			scores[j] = v
		}
	}
}

// AddBias adds the biases of the keys from, from+1, … to the scores of a query. If hides is true, a
// bias of -Inf hides its key: the score becomes -Inf even if it was not finite.
func (t *Term) AddBias(isa simd.ISA, scores []float32, b, h, q, from int, hides bool) {
	at, step := t.Row(b, h, q)
	switch bias := t.Bias[at]; {
	case step == 1 && hides:
		simd.BiasVec(isa, scores, scores, t.Bias[at+from:][:len(scores)])
	case step == 1:
		simd.AddVec(isa, scores, scores, t.Bias[at+from:][:len(scores)])
	case hides && bias < -math.MaxFloat32:
		mem.Fill(scores, bias)
	default:
		for i := range scores {
			scores[i] += bias
		}
	}
}
