package weights

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/mem"
)

// Rows of A are balanced with columns of B of int8: element p of a row is multiplied with a factor, and that of a column divided
// by it. A product stays the same. Where a layer has learned to live with channels that are far larger than the rest, it has
// small weights for them, and what is rounded of rows and of columns together is least where both have the same
// share of a product in each channel. The factor is the root of the channel's magnitude in B, beside that of all.

// balanceColumns is of how many columns of B PackRows finds the magnitudes of channels, at the least if there are as many.
const balanceColumns = 256

// balanceMost is how many times a channel's mean square is that of all at most, or at least for its inverse: factors are
// from 1/16 to 16.
const balanceMost = 1 << 16

// SampleStep is how far the columns of B lie apart by which PackRows balances: columns 0, step, 2*step and so on.
func (p *Matrix) SampleStep() int { return max(1, p.N/balanceColumns) }

// by is the factors of the elements of rows of A.
func (p *Matrix) by() []float32 {
	at := p.panels() * (p.stride + 4*p.Record.NR)
	return mem.Floats(p.Data[at:][:4*rotatedLen(p.K)])
}

// By is what elements of rows of A are multiplied with before they are rotated; nil where they are not.
func (p *Matrix) By() []float32 {
	if !p.Record.Kind.columnScales() {
		return nil
	}
	return p.by()
}

// Balanced reports whether rows of A are the same integers for both matrices of int8.
func (p *Matrix) Balanced(other *Matrix) bool {
	f, g := p.Record, other.Record
	return p.K == other.K && f.ISA == g.ISA && f.Kind == g.Kind && slices.Equal(p.By(), other.By())
}

// unbalanced begins with factors of 1.
func (p *Matrix) unbalanced() {
	for q, by := 0, p.by(); q < len(by); q++ {
		by[q] = rotateBy(q, p.K)
	}
}

// Balance finds the factors from some columns of B, K elements each. It comes before columns are packed.
func (p *Matrix) Balance(columns []float32) {
	if !p.Record.Kind.columnScales() || p.K == 0 || p.N == 0 {
		return
	}
	squares := make([]float64, p.K) // of channels, added up one column after the other
	for from := 0; from < len(columns); from += p.K {
		for q, v := range columns[from:][:p.K] {
			squares[q] += float64(v) * float64(v) // exact, but for the addition
		}
	}
	all := 0.0
	for _, s := range squares {
		all += s
	}
	all /= float64(p.K)
	by := p.by()
	for q, s := range squares {
		by[q] = rotateBy(q, p.K) * float32(math.Sqrt(math.Sqrt(balanceRatio(s, all))))
	}
}

// balanceRatio is a channel's mean square divided by that of all channels; 1 if that is not a number.
func balanceRatio(square, all float64) float64 {
	ratio := square / all
	if math.IsNaN(ratio) || math.IsInf(all, 0) {
		return 1
	}
	return min(max(ratio, 1.0/balanceMost), balanceMost)
}

// inverse is what elements of columns of B are multiplied with.
func (p *Matrix) inverse() []float32 {
	by := p.by()
	inverse := make([]float32, len(by))
	for q, f := range by {
		one := rotateBy(q, p.K)
		inverse[q] = float32(one*one) / f
	}
	return inverse
}
