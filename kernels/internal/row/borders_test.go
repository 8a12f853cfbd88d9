package row

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/ref"
)

// TestPieces: rows up to a certain length are summed in one piece, and longer ones in segments, on
// any number of threads. The bits show in which way.
func TestPieces(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		isa, r := simd.Active(), rand.New(rand.NewPCG(13, 14))
		for _, cols := range []int{SumElements, SumElements + 1, 2 * SumElements, 2*SumElements + 1} {
			x := normal(r, 2*cols)
			dst, one, long := make([]float32, 2*cols), make([]float32, cols), make([]float32, cols)
			softmaxLongRow(1, isa, long, x[cols:])
			want := long
			if cols <= 2*SumElements {
				simd.SoftmaxRows(isa, one, x[cols:], nil, 1, cols, 0)
				want = one
			}
			for threads := 1; threads <= 3; threads += 2 {
				if Softmax(threads, dst, x, 2, cols); !slices.Equal(dst[cols:], want) {
					t.Errorf("softmax of %d elements on %d threads: other bits", cols, threads)
				}
			}
			if cols == 2*SumElements && slices.Equal(dst[cols:], long) {
				t.Errorf("softmax of %d elements: segments have the same bits", cols)
			}
			logSoftmaxLongRow(1, isa, one, x[cols:])
			for threads := 1; threads <= 3; threads += 2 {
				if LogSoftmax(threads, dst, x, 2, cols); !slices.Equal(dst[cols:], one) {
					t.Errorf("log softmax of %d elements on %d threads: other bits", cols, threads)
				}
			}
		}
	})
}

// TestMaskedWholeRows has rows that see all columns, which are computed together, among rows that
// do not. A row with NaN is NaN only where it sees something.
func TestMaskedWholeRows(t *testing.T) {
	smallParts(t)
	eachISA(t, func(t *testing.T) {
		const rows, cols = 7, 5
		x := normal(rand.New(rand.NewPCG(15, 16)), rows*cols)
		keep := slices.Repeat([]bool{true}, rows*cols)
		nan := float32(math.NaN())
		keep[1*cols+2], x[1*cols+4] = false, nan
		keep[6*cols+0], keep[6*cols+3], x[6*cols+1] = false, false, nan
		terms := []mask.Term{{Kind: mask.Keep, Keep: keep, Shape: [4]int{1, 1, rows, cols}}, {Kind: mask.Lengths, Lengths: []int{cols}}}
		want := make([]float64, len(x))
		ref.MaskedSoftmax(want, ref.Widen(x), rows, cols, 2, make([]float64, len(x)), func(row, k int) bool { return keep[row*cols+k] })
		for _, threads := range []int{1, 3} {
			m := NewMasked()
			dst := slices.Repeat([]float32{nan}, len(x)+cols)
			m.Dst, m.X, m.Batch, m.Heads, m.LenQ, m.LenK, m.Scale = dst[:len(x):len(x)], x, 1, 1, rows, cols, 2
			m.Mask = append(m.Mask, terms...)
			m.Run(threads)
			for i, got := range dst[:len(x)] {
				row := i / cols
				switch {
				case !keep[i]:
					if got != 0 {
						t.Fatalf("row %d on %d threads: hidden column %d is %v", row, threads, i%cols, got)
					}
				case row == 1 || row == 6:
					if got == got {
						t.Fatalf("row %d with NaN on %d threads: column %d is %v", row, threads, i%cols, got)
					}
				case !(math.Abs(float64(got)-want[i]) <= 1e-6):
					t.Fatalf("row %d on %d threads: column %d is %v, want %v", row, threads, i%cols, got, want[i])
				}
			}
			for i, v := range dst[len(x):] {
				if v == v {
					t.Fatalf("element %d beyond the rows was written: %v", i, v)
				}
			}
		}
	})
}

// TestRecurrence compares with steps in float64, for heads that share keys in groups or in turn,
// and for more columns than one pass takes.
func TestRecurrence(t *testing.T) {
	smallParts(t)
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(17, 18))
		const rows, heads, keyHeads, keyDim, valueDim, beside = 3, 4, 2, 5, 70, 2
		fractions := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = r.Float32()
			}
			return x
		}
		for i := range 8 {
			delta, alternate, threads := i&1 != 0, i&2 != 0, 1+i&4/2
			s := State{
				Rows: rows, Heads: heads, KeyHeads: keyHeads, KeyDim: keyDim, ValueDim: valueDim, Alternate: alternate, Delta: delta,
				From: normal(r, heads*keyDim*valueDim), To: make([]float32, heads*keyDim*valueDim),
				LdQ: keyHeads*keyDim + beside, LdK: keyHeads*keyDim + beside, LdV: heads*valueDim + beside, LdDst: heads*valueDim + beside,
				Decay: fractions(rows * heads), Beta: fractions(rows * heads),
			}
			s.Q, s.K, s.V, s.Dst = normal(r, rows*s.LdQ), normal(r, rows*s.LdK), normal(r, rows*s.LdV), make([]float32, rows*s.LdDst)
			from := slices.Clone(s.From)
			Recurrence(threads, s)
			what := fmt.Sprintf("delta %v, alternate %v, %d threads", delta, alternate, threads)
			if !slices.Equal(s.From, from) {
				t.Fatalf("%s: the state before was written", what)
			}
			for h := range heads {
				key := h / (heads / keyHeads)
				if alternate {
					key = h % keyHeads
				}
				state := ref.Widen(from[h*keyDim*valueDim:][:keyDim*valueDim])
				for row := range rows {
					q, k := ref.Widen(s.Q[row*s.LdQ+key*keyDim:][:keyDim]), ref.Widen(s.K[row*s.LdK+key*keyDim:][:keyDim])
					v := ref.Widen(s.V[row*s.LdV+h*valueDim:][:valueDim])
					want := ref.RecurrenceStep(state, q, k, v, float64(s.Decay[row*heads+h]), float64(s.Beta[row*heads+h]), delta)
					close64(t, fmt.Sprintf("%s: row %d of head %d", what, row, h), s.Dst[row*s.LdDst+h*valueDim:][:valueDim], want)
				}
				close64(t, fmt.Sprintf("%s: state of head %d", what, h), s.To[h*keyDim*valueDim:][:keyDim*valueDim], state)
			}
		}
	})
}

// close64 fails the test unless got is want, up to the errors of sums of numbers of magnitude 10.
func close64(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	for i, w := range want {
		if !(math.Abs(float64(got[i])-w) <= 1e-5*(10+math.Abs(w))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], w)
		}
	}
}
