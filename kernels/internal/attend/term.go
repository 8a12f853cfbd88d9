package attend

import "github.com/avoformer/avoformer/kernels/internal/mem"

// What a query sees by one term of the mask.

// Term is what package kernels calls MaskTerm: a condition on the keys that a query sees, or a bias
// on its scores.
type Term struct {
	Kind          termKind
	Before, After int
	Lengths       []int
	Keep          []bool
	Bias          []float32
	Shape         [4]int
}

type termKind uint8

const (
	maskNone termKind = iota // hides nothing
	MaskWindow
	MaskLengths
	MaskQueryLengths
	MaskKeep
	MaskBlock
	MaskBias
	MaskALiBi
)

// Unlimited is a distance that no sequence reaches, in either direction; sums
// of it and a position stay within an int of 32 bits.
const Unlimited = 1 << 29

// row is where the data for a query starts, and the step from key to key.
func (t *Term) row(b, h, q int) (start, step int) {
	for i, at := range [4]int{b, h, q, 0} {
		if t.Shape[i] == 1 {
			at = 0
		}
		start = start*t.Shape[i] + at
	}
	if t.Shape[3] > 1 {
		step = 1
	}
	return start, step
}

// byQuery reports whether the queries of a head may see different keys by the term.
func (t *Term) byQuery() bool {
	return t.Kind == MaskWindow || t.Kind == MaskQueryLengths || (t.Kind == MaskKeep || t.Kind == MaskBlock) && t.Shape[2] > 1
}

// interval narrows [lo, hi) to the keys that query q of sequence b may see by
// the terms that say so with an interval. The result may be empty, lo >= hi.
func (t *Term) interval(b, q, lenQ, past, lo, hi int) (int, int) {
	switch t.Kind {
	case MaskWindow:
		lo = max(lo, q+past-t.Before)
		hi = min(hi, q+past+t.After+1)
	case MaskLengths:
		hi = min(hi, t.Lengths[b])
	case MaskQueryLengths:
		hi = min(hi, t.Lengths[b*lenQ+q])
	}
	return lo, hi
}

// hides reports whether a boolean term hides the keys [from, to) from the
// query, all of them.
func (t *Term) hides(b, h, q, from, to int) bool {
	blocked := t.Kind == MaskBlock
	at, step := t.row(b, h, q)
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

// hide sets the scores of the keys from, from+1, … that a boolean term hides
// to -Inf.
func (t *Term) hide(scores []float32, b, h, q, from int) {
	blocked := t.Kind == MaskBlock
	at, step := t.row(b, h, q)
	if step == 0 {
		if t.Keep[at] == blocked {
			mem.Fill(scores, mem.NegInf)
		}
		return
	}
	for j, k := range t.Keep[at+from:][:len(scores)] {
		if k == blocked {
			scores[j] = mem.NegInf
		}
	}
}
