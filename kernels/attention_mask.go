package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Masks of attention: what a query sees, and biases on its scores.

// A MaskTerm is one condition on the keys that a query sees, or a bias on its
// scores. It is made only by the constructors below, because the conventions in
// use contradict one another. Several terms may be given: a key is seen if all
// of them admit it, and the biases add up.
//
// A query's position is its index plus AttentionParams.Past; a key's position
// is its index.
//
// Terms with data keep the caller's slice. Their shape is [batch, heads,
// queries, keys], and a size of 1 holds for all.
type MaskTerm struct {
	kind          maskKind
	before, after int
	lengths       []int
	keep          []bool
	bias          []float32
	shape         [4]int
}

type maskKind uint8

const (
	maskNone maskKind = iota // hides nothing
	maskWindow
	maskLengths
	maskQueryLengths
	maskKeep
	maskBlock
	maskBias
	maskALiBi
)

// unlimited is a distance that no sequence reaches, in either direction; sums
// of it and a position stay within an int of 32 bits.
const unlimited = 1 << 29

// CausalMask hides the keys behind the query's position.
func CausalMask() MaskTerm { return WindowMask(-1, 0) }

// WindowMask shows the keys from before positions in front of the query's to
// after positions behind it. A negative distance is no limit. A sliding window
// of w keys that includes the query's own is WindowMask(w-1, 0).
func WindowMask(before, after int) MaskTerm {
	clamp := func(n int) int {
		if n < 0 {
			return unlimited
		}
		return min(n, unlimited)
	}
	return MaskTerm{kind: maskWindow, before: clamp(before), after: clamp(after)}
}

// LengthMask hides from sequence b the keys at index lengths[b] and behind.
func LengthMask(lengths []int) MaskTerm { return MaskTerm{kind: maskLengths, lengths: lengths} }

// QueryLengthMask hides from query i of sequence b the keys at index
// lengths[b*LenQ+i] and behind.
func QueryLengthMask(lengths []int) MaskTerm {
	return MaskTerm{kind: maskQueryLengths, lengths: lengths}
}

// KeepMask hides the keys where keep is false.
func KeepMask(keep []bool, batch, heads, queries, keys int) MaskTerm {
	return MaskTerm{kind: maskKeep, keep: keep, shape: [4]int{batch, heads, queries, keys}}
}

// BlockMask hides the keys where blocked is true.
func BlockMask(blocked []bool, batch, heads, queries, keys int) MaskTerm {
	return MaskTerm{kind: maskBlock, keep: blocked, shape: [4]int{batch, heads, queries, keys}}
}

// BiasMask adds bias to the scaled scores. A bias of -Inf hides a key.
func BiasMask(bias []float32, batch, heads, queries, keys int) MaskTerm {
	return MaskTerm{kind: maskBias, bias: bias, shape: [4]int{batch, heads, queries, keys}}
}

// ALiBiMask adds -slopes[h]*|i-j| to the scaled scores of head h, where i and j
// are the positions of the query and the key (Press, Smith and Lewis, "Train
// Short, Test Long", 2021). It hides nothing.
func ALiBiMask(slopes []float32) MaskTerm { return MaskTerm{kind: maskALiBi, bias: slopes} }

// check panics unless the term's data fits the call.
func (t *MaskTerm) check(fn string, p *AttentionParams) {
	switch t.kind {
	case maskLengths:
		mem.CheckLen(fn, "LengthMask", len(t.lengths), p.Batch, "Batch")
	case maskQueryLengths:
		mem.CheckLen(fn, "QueryLengthMask", len(t.lengths), mem.MulLen(fn, p.Batch, p.LenQ), "Batch*LenQ")
	case maskALiBi:
		mem.CheckLen(fn, "ALiBiMask", len(t.bias), p.Heads, "Heads")
	case maskKeep, maskBlock, maskBias:
		n := 1
		for i, want := range [4]int{p.Batch, p.Heads, p.LenQ, p.LenK} {
			if t.shape[i] != 1 && t.shape[i] != want {
				panic(fmt.Sprintf("kernels.%s: mask of shape %v, want 1 or the size of [%d %d %d %d] (batch, heads, queries, keys)",
					fn, t.shape, p.Batch, p.Heads, p.LenQ, p.LenK))
			}
			n = mem.MulLen(fn, n, t.shape[i])
		}
		mem.CheckLen(fn, "mask", len(t.keep)+len(t.bias), n, "the product of its shape")
	}
}

// row is where the data for a query starts, and the step from key to key.
func (t *MaskTerm) row(b, h, q int) (start, step int) {
	for i, at := range [4]int{b, h, q, 0} {
		if t.shape[i] == 1 {
			at = 0
		}
		start = start*t.shape[i] + at
	}
	if t.shape[3] > 1 {
		step = 1
	}
	return start, step
}

// byQuery reports whether the queries of a head may see different keys by the term.
func (t *MaskTerm) byQuery() bool {
	return t.kind == maskWindow || t.kind == maskQueryLengths || (t.kind == maskKeep || t.kind == maskBlock) && t.shape[2] > 1
}

// interval narrows [lo, hi) to the keys that query q of sequence b may see by
// the terms that say so with an interval. The result may be empty, lo >= hi.
func (t *MaskTerm) interval(b, q, lenQ, past, lo, hi int) (int, int) {
	switch t.kind {
	case maskWindow:
		lo = max(lo, q+past-t.before)
		hi = min(hi, q+past+t.after+1)
	case maskLengths:
		hi = min(hi, t.lengths[b])
	case maskQueryLengths:
		hi = min(hi, t.lengths[b*lenQ+q])
	}
	return lo, hi
}

// hides reports whether a boolean term hides the keys [from, to) from the
// query, all of them.
func (t *MaskTerm) hides(b, h, q, from, to int) bool {
	blocked := t.kind == maskBlock
	at, step := t.row(b, h, q)
	if step == 0 {
		return t.keep[at] == blocked
	}
	for _, k := range t.keep[at+from : at+to] {
		if k != blocked {
			return false
		}
	}
	return true
}

// hide sets the scores of the keys from, from+1, … that a boolean term hides
// to -Inf.
func (t *MaskTerm) hide(scores []float32, b, h, q, from int) {
	blocked := t.kind == maskBlock
	at, step := t.row(b, h, q)
	if step == 0 {
		if t.keep[at] == blocked {
			mem.Fill(scores, mem.NegInf)
		}
		return
	}
	for j, k := range t.keep[at+from:][:len(scores)] {
		if k == blocked {
			scores[j] = mem.NegInf
		}
	}
}

// mask applies the mask to a tile of scores.
func (u *attentionUnit) mask(s []float32, lds, ra, rb, j, n int) {
	p, w := &u.c.p, u.w
	for i := range p.Mask {
		switch t := &p.Mask[i]; t.kind {
		case maskBias:
			u.addBias(t, s, lds, ra, rb, j, n)
		case maskALiBi:
			u.addALiBi(t, s, lds, ra, rb, j, n)
		case maskKeep, maskBlock:
			for r := ra; r < rb; r++ {
				t.hide(s[(r-ra)*lds:][:n], u.seq, u.headOf(r), u.queryOf(r), j)
			}
		}
	}
	if u.alike && w.lo[0] <= j && j+n <= w.hi[0] {
		return
	}
	for r := ra; r < rb; r++ {
		row := s[(r-ra)*lds:][:n]
		mem.Fill(row[:min(max(w.lo[r]-j, 0), n)], mem.NegInf)
		mem.Fill(row[min(max(w.hi[r]-j, 0), n):], mem.NegInf)
	}
}

// addBias adds a bias term.
func (u *attentionUnit) addBias(t *MaskTerm, s []float32, lds, ra, rb, j, n int) {
	for r := ra; r < rb; r++ {
		at, step := t.row(u.seq, u.headOf(r), u.queryOf(r))
		row := s[(r-ra)*lds:][:n]
		if step == 1 {
			simd.AddVec(u.c.isa, row, row, t.bias[at+j:][:n])
			continue
		}
		bias := t.bias[at]
		for i := range row {
			row[i] += bias
		}
	}
}

// addALiBi adds the linear bias. The rows of a tile are windows into one ramp,
// each one element further to the left.
func (u *attentionUnit) addALiBi(t *MaskTerm, s []float32, lds, ra, rb, j, n int) {
	w := u.w
	w.ramp = mem.Grow(w.ramp, u.rows+n)
	last := -1
	for r := ra; r < rb; r++ {
		shift := u.queryOf(rb-1) - u.queryOf(r)
		if h := u.headOf(r); h != last {
			last = h
			far := u.queryOf(rb-1) + u.c.p.Past - j
			for i := range n + shift {
				d := far - i
				w.ramp[i] = -t.bias[h] * float32(max(d, -d))
			}
		}
		row := s[(r-ra)*lds:][:n]
		simd.AddVec(u.c.isa, row, row, w.ramp[shift:][:n])
	}
}
