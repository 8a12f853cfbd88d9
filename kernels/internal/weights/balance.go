package weights

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/mem"
)

// Rows of A and columns of B are balanced before they become int8: element p of a row is multiplied
// by a factor, and element p of a column is divided by it. That does not change the product. A
// layer whose inputs have a few channels that are far larger than the rest has small weights for
// them. The roundings of rows and columns together are smallest if both have an equal share of each
// channel, so the factor is the square root of the channel's magnitude in B, relative to that of
// all channels.

// balanceColumns is the number of columns of B that PackRows samples for the magnitudes of
// channels. It samples all if there are fewer.
const balanceColumns = 256

// balanceMost limits the ratio of a channel's mean square to that of all channels, and the inverse
// ratio. Factors are from 1/16 to 16.
const balanceMost = 1 << 16

// SampleStep returns the distance between the columns that PackRows samples: columns 0, step,
// 2*step and so on.
func (p *Matrix) SampleStep() int { return max(1, p.N/balanceColumns) }

// by returns the factors for the elements of a row of A.
func (p *Matrix) by() []float32 {
	at := p.panels() * (p.stride + 4*p.Record.NR)
	return mem.Floats(p.Data[at:][:4*rotatedLen(p.K)])
}

// By returns the factors by which the elements of a row of A are multiplied before they are
// rotated. It is nil in formats that do not rotate rows.
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

// unbalanced sets the factors of a matrix that is not balanced.
func (p *Matrix) unbalanced() {
	for q, by := 0, p.by(); q < len(by); q++ {
		by[q] = rotateBy(q, p.K)
	}
}

// Balance computes the factors from some columns of B, of K elements each. It must be called before
// columns are packed.
func (p *Matrix) Balance(columns []float32) {
	if !p.Record.Kind.columnScales() || p.K == 0 || p.N == 0 {
		return
	}
	squares := make([]float64, p.K) // of channels, added up one column after the other
	for from := 0; from < len(columns); from += p.K {
		for q, v := range columns[from:][:p.K] {
			squares[q] += float64(v) * float64(v) // only the addition rounds
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

// balanceRatio returns a channel's mean square divided by that of all channels, or 1 if that is not
// a number.
func balanceRatio(square, all float64) float64 {
	ratio := square / all
	if math.IsNaN(ratio) || math.IsInf(all, 0) {
		return 1
	}
	return min(max(ratio, 1.0/balanceMost), balanceMost)
}

// inverse returns the factors of the elements of a column of B.
func (p *Matrix) inverse() []float32 {
	by := p.by()
	inverse := make([]float32, len(by))
	for q, f := range by {
		one := rotateBy(q, p.K)
		inverse[q] = float32(one*one) / f
	}
	return inverse
}
