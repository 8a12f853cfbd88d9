package row

import (
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has softmax with a mask.

// Masked is a masked softmax: kernels.SoftmaxParams, checked and with its defaults.
type Masked struct {
	Dst, X                   []float32
	Batch, Heads, LenQ, LenK int
	Scale                    float32
	Past                     int
	Mask                     []mask.Term
}

// masked is the state that the threads of a call share.
type masked struct {
	m   *Masked
	isa simd.ISA
}

var maskedRows tasks[masked]

var maskeds = sync.Pool{New: func() any { return new(Masked) }}

// NewMasked returns a masked softmax. The caller sets its arguments.
func NewMasked() *Masked { return maskeds.Get().(*Masked) }

// Run computes the softmax on up to t threads, and frees m: the caller must not use it again.
func (m *Masked) Run(t int) {
	rows := m.Batch * m.Heads * m.LenQ
	switch {
	case m.LenK == 0: // the number of rows without elements may overflow
	case alone(t, rows, len(m.X)):
		m.softmax(simd.Active(), 0, rows)
	default:
		maskedRows.split(t, rows, m.LenK, &masked{m, simd.Active()}, func(a *masked, i, j int) { a.m.softmax(a.isa, i, j) })
	}
	clear(m.Mask)
	*m = Masked{Mask: m.Mask[:0]}
	maskeds.Put(m)
}

// softmax computes the rows [from, to).
func (m *Masked) softmax(isa simd.ISA, from, to int) {
	// Neighbouring rows that see all columns wait, and one call computes them together. That is
	// faster if they are still in a cache.
	cols, waiting := m.LenK, 0
	whole := func(end int) { // computes the rows that wait; end-1 is the last one
		if waiting == 0 {
			return
		}
		first := end - waiting
		d := m.Dst[first*cols : end*cols]
		softmaxRows(isa, d, d, waiting, cols, SumElements, false)
		for r := first; r < end; r++ {
			m.clearHidden(r, 0, cols)
		}
		waiting = 0
	}
	for r := from; r < to; r++ {
		row := m.Dst[r*cols:][:cols]
		lo, hi := m.visible(r)
		clear(row[:lo])
		clear(row[hi:])
		d := row[lo:hi]
		m.apply(isa, d, r, lo)
		switch {
		case seesNothing(isa, d):
			clear(d)
		case len(d) == cols:
			if waiting++; waiting*cols >= SumElements {
				whole(r + 1)
			}
			continue
		default:
			softmaxRows(isa, d, d, 1, len(d), SumElements, false)
			m.clearHidden(r, lo, hi)
		}
		whole(r)
	}
	whole(to)
}

// query returns the sequence, the head and the query of row r.
func (m *Masked) query(r int) (b, h, q int) {
	return r / m.LenQ / m.Heads, r / m.LenQ % m.Heads, r % m.LenQ
}

// visible returns bounds [lo, hi) of the columns that row r may see.
func (m *Masked) visible(r int) (lo, hi int) {
	b, _, q := m.query(r)
	lo, hi = 0, m.LenK
	for i := range m.Mask {
		lo, hi = m.Mask[i].Interval(b, q, m.LenQ, m.Past, lo, hi)
	}
	hi = max(hi, 0)
	return min(lo, hi), hi
}

// apply sets d, the columns of row r from lo on, to scaled and biased scores, and to -Inf where the
// mask hides a column.
func (m *Masked) apply(isa simd.ISA, d []float32, r, lo int) {
	b, h, q := m.query(r)
	x := m.X[r*m.LenK+lo:]
	for i, end := range BudgetOf(simd.KernelScaleVec, isa).pieces(len(d)) {
		simd.ScaleVec(isa, d[i:end], x[i:end], m.Scale)
		for j := range m.Mask {
			if t := &m.Mask[j]; t.Kind == mask.Bias {
				t.AddBias(isa, d[i:end], b, h, q, lo+i, false)
			}
		}
	}
	for j := range m.Mask {
		if t := &m.Mask[j]; t.Kind == mask.ALiBi {
			for i := range d {
				d[i] -= float32(t.Bias[h] * float32(max(q+m.Past-lo-i, lo+i-q-m.Past)))
			}
		}
	}
	for j := range m.Mask {
		if t := &m.Mask[j]; t.Kind == mask.Keep || t.Kind == mask.Blocked {
			t.Hide(d, mem.NegInf, b, h, q, lo)
		}
	}
}

// clearHidden sets hidden elements to 0 in the columns [lo, hi) of row r, if the row became NaN. In
// other rows, hidden elements are 0 already.
func (m *Masked) clearHidden(r, lo, hi int) {
	d := m.Dst[r*m.LenK+lo : r*m.LenK+hi]
	if d[0] == d[0] {
		return
	}
	b, h, q := m.query(r)
	for j := range m.Mask {
		if t := &m.Mask[j]; t.Kind == mask.Keep || t.Kind == mask.Blocked {
			t.Hide(d, 0, b, h, q, lo)
		}
	}
}

// seesNothing reports whether all elements of x are -Inf.
func seesNothing(isa simd.ISA, x []float32) bool {
	if rowMax(isa, x) > mem.NegInf {
		return false
	}
	for _, v := range x { // rowMax may have missed a NaN
		if v != v {
			return false
		}
	}
	return true
}
