package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/avoformer/avoformer/kernels/ref"
)

func TestMaskedSoftmax(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(31, 32))
		for _, cols := range []int{1, 3, 8, 17, 64, 100, 3000} {
			const rows = 9
			for choice := range 16 {
				mask := SoftmaxMask{Scale: 0.25}
				if choice&1 != 0 {
					mask.Bias = randomSlice(r, rows*cols)
					mask.Bias[r.IntN(len(mask.Bias))] = -inf32
				}
				if choice&2 != 0 {
					mask.Visible = make([]bool, rows*cols)
					for i := range mask.Visible {
						mask.Visible[i] = r.IntN(3) > 0 && i/cols != 4
					}
				}
				if choice&4 != 0 {
					mask.Causal, mask.Offset = true, r.IntN(2*cols)-cols
				}
				if choice&8 != 0 {
					mask.ValidLens = make([]int, rows)
					for i := range mask.ValidLens {
						mask.ValidLens[i] = r.IntN(cols+3) - 1
					}
				}
				x := randomSlice(r, rows*cols)
				want, bias := make([]float64, rows*cols), widenOrNil(mask.Bias)
				ref.MaskedSoftmax(want, ref.Widen(x), rows, cols, 0.25, bias, func(r, c int) bool {
					return (mask.Visible == nil || mask.Visible[r*cols+c]) &&
						(!mask.Causal || c <= r+mask.Offset) && (mask.ValidLens == nil || c < mask.ValidLens[r])
				})
				t.Run(fmt.Sprintf("cols=%d/mask=%04b", cols, choice), func(t *testing.T) {
					inPlaceToo(t, x, func(t *testing.T, dst, x []float32) {
						MaskedSoftmax(dst, x, rows, cols, mask)
						for i, got := range dst {
							if e := math.Abs(float64(got) - want[i]); want[i] == 0 && got != 0 || !(e <= want[i]*64*0x1p-24) {
								t.Fatalf("[%d,%d] = %v, want %v", i/cols, i%cols, got, want[i])
							}
						}
					})
				})
			}
		}
	})
}

func TestMaskedSoftmaxSpecialRows(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, c := range []struct {
			x    []float32
			mask SoftmaxMask
			want []float32
		}{
			{[]float32{-inf32, -inf32}, SoftmaxMask{Scale: 1}, []float32{0, 0}},
			{[]float32{-inf32, nan32}, SoftmaxMask{Scale: 1}, []float32{nan32, nan32}},
			{[]float32{1, nan32}, SoftmaxMask{Scale: 1, ValidLens: []int{1}}, []float32{1, 0}},
			{[]float32{1, inf32}, SoftmaxMask{Scale: 1, Visible: []bool{true, false}}, []float32{1, 0}},
			{[]float32{5, nan32}, SoftmaxMask{Scale: 1, Visible: []bool{false, true}}, []float32{0, nan32}},
			{[]float32{inf32, 5}, SoftmaxMask{Scale: 1, Visible: []bool{true, false}}, []float32{nan32, 0}},
			{[]float32{nan32, 5}, SoftmaxMask{Scale: 1, Visible: []bool{true, true}, ValidLens: []int{1}}, []float32{nan32, 0}},
			{[]float32{1, nan32}, SoftmaxMask{Scale: 1, Bias: []float32{0, -inf32}}, []float32{nan32, nan32}},
			{[]float32{1, 2}, SoftmaxMask{Scale: 1, Causal: true, Offset: math.MinInt}, []float32{0, 0}},
			{[]float32{2, 2}, SoftmaxMask{Scale: 1, Causal: true, Offset: math.MaxInt}, []float32{0.5, 0.5}},
		} {
			got := make([]float32, 2)
			MaskedSoftmax(got, c.x, 1, 2, c.mask)
			for i := range got {
				if got[i] != c.want[i] && (got[i] == got[i] || c.want[i] == c.want[i]) {
					t.Errorf("x %v, mask %+v: %v, want %v", c.x, c.mask, got, c.want)
				}
			}
		}
	})
}
