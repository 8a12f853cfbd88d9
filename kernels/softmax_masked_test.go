package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/ref"
)

// TestMaskedSoftmax compares the softmax under every combination of some terms with the definitions
// of the terms.
func TestMaskedSoftmax(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(31, 32))
		const batch, heads, lenQ, past = 2, 3, 3, 2
		for _, lenK := range []int{1, 3, 8, 17, 64, 100, 3000} {
			if testenv.Emulated() && lenK > 64 {
				break
			}
			rows := batch * heads * lenQ
			lengths := func(n int) []int {
				l := make([]int, n)
				for i := range l {
					l[i] = r.IntN(lenK+3) - 1
				}
				return l
			}
			bias := randomSlice(r, rows*lenK)
			bias[r.IntN(len(bias))] = -inf32
			terms := []MaskTerm{
				BiasMask(bias, batch, heads, lenQ, lenK),
				KeepMask(randomBools(r, rows*lenK, 0.7), batch, heads, lenQ, lenK),
				WindowMask(1, 1),
				LengthMask(lengths(batch)),
				QueryLengthMask(lengths(batch * lenQ)),
				BlockMask(randomBools(r, heads, 0.2), 1, heads, 1, 1),
				BiasMask(randomSlice(r, batch*lenQ), batch, 1, lenQ, 1),
				ALiBiMask([]float32{0.5, 0.25, -0.0625}),
			}
			for choice := range 1 << len(terms) {
				if n := choice & (choice - 1); n != 0 && (n&(n-1) != 0 && r.IntN(8) > 0 || lenK > 1000) {
					continue // an eighth of those with more than two terms; for long rows one term
				}
				p := SoftmaxParams{Batch: batch, Heads: heads, LenQ: lenQ, LenK: lenK, Scale: 0.25, Past: past}
				for i, term := range terms {
					if choice>>i&1 != 0 {
						p.Mask = append(p.Mask, term)
					}
				}
				x := randomSlice(r, rows*lenK)
				want, tolerance := maskedSoftmaxDefinition(p, x)
				t.Run(fmt.Sprintf("keys=%d/mask=%08b", lenK, choice), func(t *testing.T) {
					inPlaceToo(t, x, func(t *testing.T, dst, x []float32) {
						p.Dst, p.X = dst, x
						MaskedSoftmax(p)
						for i, got := range dst {
							if e := math.Abs(float64(got) - want[i]); want[i] == 0 && got != 0 || !(e <= want[i]*tolerance+0x1p-126) {
								t.Fatalf("[%d,%d] = %v, want %v", i/lenK, i%lenK, got, want[i])
							}
						}
					})
				})
			}
		}
	})
}

// maskedSoftmaxDefinition returns the softmax from the definitions of the terms, and the relative
// tolerance of results.
func maskedSoftmaxDefinition(p SoftmaxParams, x []float32) (want []float64, tolerance float64) {
	rows := p.Batch * p.Heads * p.LenQ
	bias, visible := make([]float64, rows*p.LenK), make([]bool, rows*p.LenK)
	largest := 0.0
	for r := range rows {
		for k := range p.LenK {
			i := r*p.LenK + k
			visible[i] = true
			for _, term := range p.Mask {
				b, v := maskDefinition(term, r/p.LenQ/p.Heads, r/p.LenQ%p.Heads, r%p.LenQ, k, p.LenQ, p.Past)
				bias[i] += b
				visible[i] = visible[i] && v
			}
			if !math.IsInf(bias[i], 0) {
				largest = max(largest, math.Abs(bias[i]))
			}
		}
	}
	want = make([]float64, rows*p.LenK)
	ref.MaskedSoftmax(want, ref.Widen(x), rows, p.LenK, float64(p.Scale), bias, func(r, c int) bool { return visible[r*p.LenK+c] })
	return want, (64 + 4*largest) * 0x1p-24
}

func TestMaskedSoftmaxSpecialRows(t *testing.T) {
	keep := func(a, b bool) MaskTerm { return KeepMask([]bool{a, b}, 1, 1, 1, 2) }
	eachISA(t, func(t *testing.T) {
		for _, c := range []struct {
			x    []float32
			mask []MaskTerm
			past int
			want []float32
		}{
			{[]float32{-inf32, -inf32}, nil, 0, []float32{0, 0}},
			{[]float32{-inf32, nan32}, nil, 0, []float32{nan32, nan32}},
			{[]float32{1, nan32}, []MaskTerm{LengthMask([]int{1})}, 0, []float32{1, 0}},
			{[]float32{nan32, 1}, []MaskTerm{WindowMask(0, -1)}, 1, []float32{0, 1}},
			{[]float32{1, inf32}, []MaskTerm{keep(true, false)}, 0, []float32{1, 0}},
			{[]float32{5, nan32}, []MaskTerm{keep(false, true)}, 0, []float32{0, nan32}},
			{[]float32{inf32, 5}, []MaskTerm{keep(true, false)}, 0, []float32{nan32, 0}},
			{[]float32{nan32, 5}, []MaskTerm{keep(true, true), LengthMask([]int{1})}, 0, []float32{nan32, 0}},
			{[]float32{1, nan32}, []MaskTerm{BiasMask([]float32{0, -inf32}, 1, 1, 1, 2)}, 0, []float32{nan32, nan32}},
			{[]float32{1, 2}, []MaskTerm{LengthMask([]int{math.MinInt})}, 0, []float32{0, 0}},
			{[]float32{2, 2}, []MaskTerm{LengthMask([]int{math.MaxInt})}, 0, []float32{0.5, 0.5}},
			{[]float32{2, 2}, []MaskTerm{WindowMask(0, 0)}, math.MaxInt32 / 4, []float32{0, 0}},
			{[]float32{2, 9}, []MaskTerm{CausalMask()}, 0, []float32{1, 0}},
		} {
			got := make([]float32, 2)
			MaskedSoftmax(SoftmaxParams{Batch: 1, Heads: 1, LenQ: 1, LenK: 2, Dst: got, X: c.x, Past: c.past, Mask: c.mask})
			for i := range got {
				if got[i] != c.want[i] && (got[i] == got[i] || c.want[i] == c.want[i]) {
					t.Errorf("x %v, mask %+v: %v, want %v", c.x, c.mask, got, c.want)
				}
			}
		}
	})
}
