package kernels

// Softmax with a mask.

import "github.com/avoformer/avoformer/kernels/internal/simd"

// SoftmaxMask says what a masked softmax sees, and how it scales.
type SoftmaxMask struct {
	// Scale multiplies x. There is no default: 0 makes all visible columns equal.
	Scale float32
	// Bias is added after scaling: rows x cols, or nil. -Inf gives a weight of 0,
	// unless there is a NaN or +Inf in the row, at that column too.
	Bias []float32
	// Visible tells which elements are visible: rows x cols, or nil for all.
	Visible []bool
	// Causal lets row r see the columns up to r + Offset only.
	Causal bool
	Offset int
	// ValidLens has for each row the number of leading columns that are
	// visible, or is nil for all. A length outside [0, cols] is cut to it.
	ValidLens []int
}

// MaskedSoftmax sets each row of dst to the softmax of Scale*x + Bias over the
// columns that every part of the mask admits, and to 0 elsewhere. A row that
// sees nothing, or nothing but -Inf, is 0; otherwise special values and the
// bound are as for [Softmax], with one rounding more for the scale and one
// for the bias, each relative to the term. x and dst are contiguous rows x cols
// matrices; dst may be x, but may not overlap x or the bias otherwise.
func MaskedSoftmax(dst, x []float32, rows, cols int, mask SoftmaxMask) {
	Threads(1).MaskedSoftmax(dst, x, rows, cols, mask)
}

// MaskedSoftmax is the function [MaskedSoftmax] on up to t threads.
func (t Threads) MaskedSoftmax(dst, x []float32, rows, cols int, mask SoftmaxMask) {
	mask.check("MaskedSoftmax", dst, x, rows, cols)
	isa := Active()
	if t.alone(rows, len(x)) {
		maskedSoftmaxRows(isa, dst, x, rows, cols, &mask)
		return
	}
	t.split(rows, cols, &rowCall{isa: isa, dst: dst, x: x, mask: mask, do: func(c *rowCall, i, j int) {
		part := c.mask.rows(i, j, c.cols)
		maskedSoftmaxRows(c.isa, c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols, &part)
	}})
}

// maskedSoftmaxRows is MaskedSoftmax of some or all rows of a call, with the mask of
// these rows.
func maskedSoftmaxRows(isa ISA, dst, x []float32, rows, cols int, mask *SoftmaxMask) {
	// Neighbouring rows of which all columns are seen wait for one another: one call for
	// several rows is faster, as long as they are still in a cache.
	waiting := 0
	whole := func(end int) { // the rows that wait, the last of which is end-1
		if waiting == 0 {
			return
		}
		from := end - waiting
		softmaxRows(isa, dst[from*cols:end*cols], dst[from*cols:end*cols], waiting, cols, sumElements, false)
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
			if waiting++; waiting*cols >= sumElements {
				whole(r + 1)
			}
			continue
		default:
			softmaxRows(isa, d, d, 1, seen, sumElements, false)
			mask.clearHidden(dst, r, r+1, cols)
		}
		whole(r)
	}
	whole(rows)
}

// apply sets d to the scaled and biased beginning of row r, with -Inf for what is not
// visible.
func (m *SoftmaxMask) apply(isa ISA, d, x []float32, r, cols int) {
	for i, end := range budgetOf(simd.KernelScaleVec, isa).pieces(len(d)) {
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
			d[c] = negInf
		}
	}
}

// check panics unless dst, x and the mask are rows x cols.
func (m *SoftmaxMask) check(fn string, dst, x []float32, rows, cols int) {
	checkRows(fn, dst, x, rows, cols)
	if m.Bias != nil {
		checkLen(fn, "Bias", len(m.Bias), len(x), "rows*cols")
	}
	if m.Visible != nil {
		checkLen(fn, "Visible", len(m.Visible), len(x), "rows*cols")
	}
	if m.ValidLens != nil {
		checkLen(fn, "ValidLens", len(m.ValidLens), rows, "rows")
	}
}

// clearHidden clears what is not visible in the rows [from, to) of dst, as far as they
// became NaN. In the other rows it is 0 already.
func (m *SoftmaxMask) clearHidden(dst []float32, from, to, cols int) {
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
func (m *SoftmaxMask) rows(from, to, cols int) SoftmaxMask {
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
func (m *SoftmaxMask) visible(r, cols int) int {
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
func seesNothing(isa ISA, x []float32) bool {
	if rowMax(isa, x) > negInf {
		return false
	}
	for _, v := range x { // rowMax may have missed a NaN
		if v != v {
			return false
		}
	}
	return true
}
