package row

import (
	"math"
	"sync"

	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// This file has softmax, and its logarithm, of rows that are too long to be summed in one piece.

// SegmentElements is the number of elements of a segment, a part of a long row with a maximum of
// its own. A segment is still in the first-level cache when its exponentials are computed.
const SegmentElements = 1 << 11

// cutsRows reports whether t threads share each row, rather than having rows of their own.
func cutsRows(t, rows, cols int) bool {
	return rows < t && cols >= tune.Used.Rows.CutElements
}

// longRow is a row of a softmax that is computed segment by segment. Segments, and the order of all
// sums, depend only on the length of the row. Threads compute some segments at a time.
type longRow struct {
	isa      simd.ISA
	dst, x   []float32
	size     int // elements of a segment
	segments int
	pass     func(l *longRow, from, to int)
	maxima   []float32 // per segment; those of Softmax become factors
	sums     []float32 // per segment, of exponentials
	max, lse float32   // of the row: the maximum, and the logarithm of the sum
	room     [SumElements]float32
}

var longRows = sync.Pool{New: func() any { return new(longRow) }}

func newLongRow(isa simd.ISA, dst, x []float32, size int) *longRow {
	l := longRows.Get().(*longRow)
	l.isa, l.dst, l.x, l.size, l.segments = isa, dst, x, size, (len(x)+size-1)/size
	room := l.room[:]
	if 2*l.segments > len(room) {
		room = make([]float32, 2*l.segments)
	}
	l.maxima, l.sums = room[:l.segments], room[l.segments:2*l.segments]
	return l
}

func (l *longRow) free() {
	l.dst, l.x, l.maxima, l.sums = nil, nil, nil, nil
	longRows.Put(l)
}

// run is a pass over all segments on t threads.
func (l *longRow) run(t int, pass func(l *longRow, from, to int)) {
	l.pass = pass
	per := tune.Used.Rows.CutPart / l.size
	par.Run(t, (l.segments+per-1)/per, l)
}

// Do implements par.Task.
func (l *longRow) Do(from, to int) {
	per := tune.Used.Rows.CutPart / l.size
	l.pass(l, from*per, min(to*per, l.segments))
}

// elements returns the segments [from, to) of x, which is l.x or l.dst.
func (l *longRow) elements(x []float32, from, to int) []float32 {
	return x[from*l.size : min(to*l.size, len(x))]
}

// softmaxLongRow computes Softmax of a single row. It computes the exponentials of each segment as
// if the segment were a row, and then multiplies each segment by a factor: from the segment's
// maximum to the row's, divided by the sum of the row.
func softmaxLongRow(t int, isa simd.ISA, dst, x []float32) {
	l := newLongRow(isa, dst, x, SegmentElements)
	l.run(t, expSumSegments)
	factors := l.maxima
	simd.SubSubVec(isa, factors, factors, simd.MaxVec(isa, factors), 0)
	simd.ExpVec(isa, factors, factors)
	sum := 0.0
	for b, s := range l.sums {
		sum += float64(s) * float64(factors[b])
	}
	for b, f := range factors {
		factors[b] = float32(float64(f) / sum)
	}
	l.run(t, func(l *longRow, from, to int) {
		for b := from; b < to; b++ {
			segment := l.elements(l.dst, b, b+1)
			simd.ScaleVec(l.isa, segment, segment, l.maxima[b])
		}
	})
	l.free()
}

// expSumSegments computes expSumRows of the segments [from, to). The last one may be shorter.
func expSumSegments(l *longRow, from, to int) {
	run := func(from, to, cols int) {
		i := from * l.size
		j := i + (to-from)*cols
		simd.ExpSumRows(l.isa, l.dst[i:j], l.x[i:j], l.maxima[from:to], l.sums[from:to], to-from, cols)
	}
	whole := min(to, len(l.x)/l.size)
	for i, j := range BudgetOf(simd.KernelExpSumRows, l.isa).Rows(from, whole, l.size) {
		run(i, j, l.size)
	}
	if whole < to {
		run(whole, to, len(l.x)%l.size)
	}
}

// logSoftmaxLongRow computes LogSoftmax of a single row. It does not keep the exponentials, so a
// segment needs no maximum of its own.
func logSoftmaxLongRow(t int, isa simd.ISA, dst, x []float32) {
	l := newLongRow(isa, dst, x, SumElements)
	l.run(t, func(l *longRow, from, to int) {
		m := rowMax(l.isa, l.elements(l.x, from, to))
		for b := from; b < to; b++ {
			l.maxima[b] = m
		}
	})
	l.max = rowMax(l.isa, l.maxima)
	l.run(t, func(l *longRow, from, to int) {
		for b := from; b < to; b++ {
			l.sums[b] = simd.SumExpVec(l.isa, l.elements(l.x, b, b+1), l.max)
		}
	})
	sum := 0.0
	for _, s := range l.sums {
		sum += float64(s)
	}
	l.lse = float32(elementary.Log(sum))
	l.run(t, func(l *longRow, from, to int) {
		d, x := l.elements(l.dst, from, to), l.elements(l.x, from, to)
		for i, end := range BudgetOf(simd.KernelSubSubVec, l.isa).pieces(len(x)) {
			simd.SubSubVec(l.isa, d[i:end], x[i:end], l.max, l.lse)
		}
	})
	l.free()
}

// rowMax returns the maximum of x, found piece by piece. It may miss a NaN.
func rowMax(isa simd.ISA, x []float32) float32 {
	m := float32(math.Inf(-1))
	for i, end := range BudgetOf(simd.KernelMaxVec, isa).pieces(len(x)) {
		if v := simd.MaxVec(isa, x[i:end]); v > m {
			m = v
		}
	}
	return m
}
