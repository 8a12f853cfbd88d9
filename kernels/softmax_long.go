package kernels

import (
	"math"
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// blockElements is how many elements of a long row have a maximum of their own:
// so many are in the first-level cache still when their exponentials are taken.
const blockElements = 1 << 11

// cutPart is how many elements of a long row a part of a parallel call has: half as
// many as of other calls, since a softmax takes longer. From cutElements on a row is
// cut, where there are fewer rows than threads: it is handed out once for each pass,
// and pays by an eighth only with 24576 elements.
const (
	cutPart     = threadElements / 2
	cutElements = 7 * cutPart / 2
)

// cuts reports whether t threads take each of so many rows together.
func (t Threads) cuts(rows, cols int) bool { return rows < int(t) && cols >= cutElements }

// longRow is a row of a softmax that is worked on in blocks, which do not depend on
// anything but its length: so neither does the result. Threads take some of them at
// a time. For each block it has two numbers.
type longRow struct {
	dst, x   []float32
	size     int // of a block
	blocks   int
	pass     func(l *longRow, from, to int)
	of       [2][]float32
	max, lse float32
	room     [sumElements]float32
}

var longRows = sync.Pool{New: func() any { return new(longRow) }}

func newLongRow(dst, x []float32, size int) *longRow {
	l := longRows.Get().(*longRow)
	l.dst, l.x, l.size, l.blocks = dst, x, size, (len(x)+size-1)/size
	room := l.room[:]
	if 2*l.blocks > len(room) {
		room = make([]float32, 2*l.blocks)
	}
	l.of = [2][]float32{room[:l.blocks], room[l.blocks : 2*l.blocks]}
	return l
}

func (l *longRow) free() {
	l.dst, l.x, l.of = nil, nil, [2][]float32{}
	longRows.Put(l)
}

// run is a pass over all blocks on t threads.
func (l *longRow) run(t Threads, pass func(l *longRow, from, to int)) {
	l.pass = pass
	per := cutPart / l.size
	par.Run(int(t), (l.blocks+per-1)/per, l)
}

// Do implements par.Task.
func (l *longRow) Do(from, to int) {
	per := cutPart / l.size
	l.pass(l, from*per, min(to*per, l.blocks))
}

// span is the blocks [from, to) of x, which is l.x or l.dst.
func (l *longRow) span(x []float32, from, to int) []float32 {
	return x[from*l.size : min(to*l.size, len(x))]
}

// softmaxLongRow is Softmax of a single row: the exponentials of each block, as if
// it were a row, and then the products with what is left to be divided by.
func (t Threads) softmaxLongRow(dst, x []float32) {
	l := newLongRow(dst, x, blockElements)
	l.run(t, expSumBlocks)
	factors, sums := l.of[0], l.of[1]
	simd.SubSubVec(Active(), factors, factors, simd.MaxVec(Active(), factors), 0)
	simd.ExpVec(Active(), factors, factors)
	sum := 0.0
	for b, s := range sums {
		sum += float64(s) * float64(factors[b])
	}
	for b, f := range factors {
		factors[b] = float32(float64(f) / sum)
	}
	l.run(t, func(l *longRow, from, to int) {
		for b := from; b < to; b++ {
			block := l.span(l.dst, b, b+1)
			simd.ScaleVec(Active(), block, block, l.of[0][b])
		}
	})
	l.free()
}

// expSumBlocks is expSumRows of the blocks [from, to), of which the last may be shorter.
func expSumBlocks(l *longRow, from, to int) {
	run := func(from, to, cols int) {
		i := from * l.size
		j := i + (to-from)*cols
		simd.ExpSumRows(Active(), l.dst[i:j], l.x[i:j], l.of[0][from:to], l.of[1][from:to], to-from, cols)
	}
	whole := min(to, len(l.x)/l.size)
	for i, j := range rowPieces(whole-from, l.size) {
		run(from+i, from+j, l.size)
	}
	if whole < to {
		run(whole, to, len(l.x)%l.size)
	}
}

// logSoftmaxLongRow is LogSoftmax of a single row. It needs no maxima of blocks, as
// it does not keep the exponentials.
func (t Threads) logSoftmaxLongRow(dst, x []float32) {
	l := newLongRow(dst, x, sumElements)
	l.run(t, func(l *longRow, from, to int) {
		m := rowMax(l.span(l.x, from, to))
		for b := from; b < to; b++ {
			l.of[0][b] = m
		}
	})
	l.max = rowMax(l.of[0])
	l.run(t, func(l *longRow, from, to int) {
		for b := from; b < to; b++ {
			l.of[1][b] = simd.SumExpVec(Active(), l.span(l.x, b, b+1), l.max)
		}
	})
	sum := 0.0
	for _, s := range l.of[1] {
		sum += float64(s)
	}
	l.lse = float32(math.Log(sum))
	l.run(t, func(l *longRow, from, to int) {
		d, x := l.span(l.dst, from, to), l.span(l.x, from, to)
		for i, end := range pieces(len(x)) {
			simd.SubSubVec(Active(), d[i:end], x[i:end], l.max, l.lse)
		}
	})
	l.free()
}
