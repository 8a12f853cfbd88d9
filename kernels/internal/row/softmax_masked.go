package row

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Softmax with a mask.

// MaskedSoftmax is kernels.MaskedSoftmax, of checked arguments, on up to t threads.
func MaskedSoftmax(t int, dst, x []float32, rows, cols int, mask Mask) {
	isa := simd.Active()
	if alone(t, rows, len(x)) {
		maskedSoftmaxRows(isa, dst, x, rows, cols, &mask)
		return
	}
	split(t, rows, cols, &task{isa: isa, dst: dst, x: x, mask: mask, do: func(c *task, i, j int) {
		part := c.mask.rows(i, j, c.cols)
		maskedSoftmaxRows(c.isa, c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols, &part)
	}})
}

// maskedSoftmaxRows is MaskedSoftmax of some or all rows of a call, with the mask of
// these rows.
func maskedSoftmaxRows(isa simd.ISA, dst, x []float32, rows, cols int, mask *Mask) {
	if cols == 0 { // of which there may be more rows than can be counted
		return
	}
	// Neighbouring rows of which all columns are seen wait for one another: one call for
	// several rows is faster, as long as they are still in a cache.
	waiting := 0
	whole := func(end int) { // the rows that wait, the last of which is end-1
		if waiting == 0 {
			return
		}
		from := end - waiting
		softmaxRows(isa, dst[from*cols:end*cols], dst[from*cols:end*cols], waiting, cols, SumElements, false)
		mask.clearHidden(dst, from, end, cols)
		waiting = 0
	}
	for r := range rows {
		d := dst[r*cols:][:cols]
		seen := mask.visible(r, cols)
		clear(d[seen:])
		d = d[:seen]
		mask.apply(isa, d, x[r*cols:][:seen], r, cols)
		switch {
		case seesNothing(isa, d):
			clear(d)
		case seen == cols:
			if waiting++; waiting*cols >= SumElements {
				whole(r + 1)
			}
			continue
		default:
			softmaxRows(isa, d, d, 1, seen, SumElements, false)
			mask.clearHidden(dst, r, r+1, cols)
		}
		whole(r)
	}
	whole(rows)
}

// apply sets d to the scaled and biased beginning of row r, with -Inf for what is not
// visible.
func (m *Mask) apply(isa simd.ISA, d, x []float32, r, cols int) {
	for i, end := range BudgetOf(simd.KernelScaleVec, isa).pieces(len(d)) {
		simd.ScaleVec(isa, d[i:end], x[i:end], m.Scale)
		if m.Bias != nil {
			simd.AddVec(isa, d[i:end], d[i:end], m.Bias[r*cols+i:r*cols+end])
		}
	}
	if m.Visible == nil {
		return
	}
	for c, ok := range m.Visible[r*cols:][:len(d)] {
		if !ok {
			d[c] = mem.NegInf
		}
	}
}

// clearHidden clears what is not visible in the rows [from, to) of dst, as far as they
// became NaN. In the other rows it is 0 already.
func (m *Mask) clearHidden(dst []float32, from, to, cols int) {
	if m.Visible == nil {
		return
	}
	for r := from; r < to; r++ {
		d := dst[r*cols:][:cols]
		if d[0] == d[0] {
			continue
		}
		for c, ok := range m.Visible[r*cols:][:cols] {
			if !ok {
				d[c] = 0
			}
		}
	}
}

// rows is the mask of the rows [from, to).
func (m *Mask) rows(from, to, cols int) Mask {
	part := *m
	part.Offset = min(m.Offset, cols) + from // beyond cols, all is seen
	if m.Bias != nil {
		part.Bias = m.Bias[from*cols : to*cols]
	}
	if m.Visible != nil {
		part.Visible = m.Visible[from*cols : to*cols]
	}
	if m.ValidLens != nil {
		part.ValidLens = m.ValidLens[from:to]
	}
	return part
}

// visible is the number of leading columns outside of which row r sees nothing.
func (m *Mask) visible(r, cols int) int {
	n := cols
	// In this form an offset near the largest int does not overflow.
	if m.Causal && m.Offset < cols-1-r {
		n = max(0, r+1+m.Offset)
	}
	if m.ValidLens != nil {
		n = min(n, max(0, m.ValidLens[r]))
	}
	return n
}

// seesNothing reports whether x has nothing but -Inf.
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
