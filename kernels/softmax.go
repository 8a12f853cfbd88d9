package kernels

import (
	"iter"
	"math"
)

// callElements bounds the elements that one assembly call works on: goroutines
// cannot be preempted inside it, so a call should end within some tens of
// microseconds even where memory is slow. Rows longer than this are worked on
// in pieces; the pieces do not depend on anything but the length, so neither
// does the result.
const callElements = 1 << 16

// sumElements is the longest row that is summed in one piece. The sums of the
// pieces of longer rows are added in float64, which bounds the error.
const sumElements = 1 << 13

// pieces yields the bounds of the pieces, of at most callElements, of n elements.
func pieces(n int) iter.Seq2[int, int] { return piecesOf(callElements, n) }

func piecesOf(size, n int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for i := 0; i < n; i += size {
			if !yield(i, min(i+size, n)) {
				return
			}
		}
	}
}

// rowPieces yields the bounds of runs of rows of at most callElements elements.
func rowPieces(rows, cols int) iter.Seq2[int, int] {
	step := max(1, callElements/max(cols, 1))
	return func(yield func(from, to int) bool) {
		for r := 0; r < rows; r += step {
			if !yield(r, min(r+step, rows)) {
				return
			}
		}
	}
}

// Softmax sets each row of dst to the softmax of the row of x:
//
//	dst[r,c] = exp(x[r,c] - max_r) / sum_c exp(x[r,c] - max_r)
//
// x and dst are contiguous rows x cols matrices; dst may be x, but may not
// overlap it otherwise. A row with a NaN, with +Inf, or with nothing but -Inf
// becomes NaN; -Inf beside finite elements becomes 0. Results below 2^-126 may
// come out as 0. The relative error is at most
// (16 + |x[r,c]-max_r| + min(cols, 8192)/8)*2^-24.
func Softmax(dst, x []float32, rows, cols int) {
	checkRows("Softmax", dst, x, rows, cols)
	if len(x) == 0 {
		return
	}
	if cols > sumElements {
		for r := range rows {
			softmaxLongRow(dst[r*cols:][:cols], x[r*cols:][:cols])
		}
		return
	}
	for from, to := range rowPieces(rows, cols) {
		softmaxRows(dst[from*cols:to*cols], x[from*cols:to*cols], to-from, cols)
	}
}

// softmaxLongRow is Softmax of a single row, in pieces.
func softmaxLongRow(dst, x []float32) {
	m := rowMax(x)
	sum := 0.0
	for i, end := range piecesOf(sumElements, len(x)) {
		sum += float64(expSumVec(dst[i:end], x[i:end], m))
	}
	for i, end := range pieces(len(x)) {
		scaleVec(dst[i:end], dst[i:end], float32(1/sum))
	}
}

// rowMax is the maximum of x, in pieces. It may miss a NaN.
func rowMax(x []float32) float32 {
	m := float32(math.Inf(-1))
	for i, end := range pieces(len(x)) {
		if v := maxVec(x[i:end]); v > m {
			m = v
		}
	}
	return m
}

// LogSoftmax sets each row of dst to the logarithm of the softmax of the row of
// x, as (x - max) - log(sum exp(x - max)). Shapes, aliasing and special values
// are those of Softmax, but for -Inf beside finite elements, which stays -Inf.
// The error is at most 2^-22*(1 + |dst[r,c]| + min(cols, 8192)/64).
func LogSoftmax(dst, x []float32, rows, cols int) {
	checkRows("LogSoftmax", dst, x, rows, cols)
	if len(x) == 0 {
		return
	}
	for r := range rows {
		logSoftmaxRow(dst[r*cols:][:cols], x[r*cols:][:cols])
	}
}

// logSoftmaxRow needs no room for the exponentials: they are summed only.
func logSoftmaxRow(dst, x []float32) {
	m := rowMax(x)
	sum := 0.0
	for i, end := range piecesOf(sumElements, len(x)) {
		sum += float64(sumExpVec(x[i:end], m))
	}
	lse := float32(math.Log(sum))
	for i, end := range pieces(len(x)) {
		subSubVec(dst[i:end], x[i:end], m, lse)
	}
}
