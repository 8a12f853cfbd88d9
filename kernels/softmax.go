package kernels

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/row"
)

// Softmax, its logarithm, and softmax with a mask.

// Softmax sets each row of dst to the softmax of the row of x:
//
//	dst[r,c] = exp(x[r,c] - max_r) / sum_c exp(x[r,c] - max_r)
//
// x and dst are contiguous rows x cols matrices; dst may be x, but may not
// overlap it otherwise. A row with a NaN, with +Inf, or with nothing but -Inf
// becomes NaN; -Inf beside finite elements becomes 0. Results below 2^-126 may
// come out as 0. The relative error is at most
// (16 + |x[r,c]-max_r| + min(cols, 8192)/8)*2^-24.
func Softmax(dst, x []float32, rows, cols int) { Threads(1).Softmax(dst, x, rows, cols) }

// Softmax is the function [Softmax] on up to t threads.
func (t Threads) Softmax(dst, x []float32, rows, cols int) {
	mem.CheckRows("Softmax", dst, x, rows, cols)
	row.Softmax(int(t), dst, x, rows, cols)
}

// LogSoftmax sets each row of dst to the logarithm of the softmax of the row of
// x, as (x - max) - log(sum exp(x - max)). Shapes, aliasing and special values
// are as for Softmax, except that -Inf beside finite elements stays -Inf.
// The error is at most 2^-22*(1 + |dst[r,c]| + min(cols, 8192)/64).
func LogSoftmax(dst, x []float32, rows, cols int) { Threads(1).LogSoftmax(dst, x, rows, cols) }

// LogSoftmax is the function [LogSoftmax] on up to t threads.
func (t Threads) LogSoftmax(dst, x []float32, rows, cols int) {
	mem.CheckRows("LogSoftmax", dst, x, rows, cols)
	row.LogSoftmax(int(t), dst, x, rows, cols)
}

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
	row.MaskedSoftmax(int(t), dst, x, rows, cols, row.Mask(mask))
}

// check panics unless dst, x and the mask are rows x cols.
func (m *SoftmaxMask) check(fn string, dst, x []float32, rows, cols int) {
	mem.CheckRows(fn, dst, x, rows, cols)
	if m.Bias != nil {
		mem.CheckLen(fn, "Bias", len(m.Bias), len(x), "rows*cols")
	}
	if m.Visible != nil {
		mem.CheckLen(fn, "Visible", len(m.Visible), len(x), "rows*cols")
	}
	if m.ValidLens != nil {
		mem.CheckLen(fn, "ValidLens", len(m.ValidLens), rows, "rows")
	}
}
