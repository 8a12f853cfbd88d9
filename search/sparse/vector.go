package sparse

import (
	"cmp"
	"math"
	"slices"
)

// A Weight is an element of a sparse vector other than 0.
type Weight struct {
	Index int     `json:"index"` // in a model's vectors, the token
	Value float32 `json:"value"`
}

// A Vector has the elements of a vector that are not 0, in the order of their index.
type Vector []Weight

// Dot returns the inner product of two vectors. It measures how well two texts match.
func (v Vector) Dot(w Vector) float32 {
	sum, j := 0.0, 0
	for _, x := range v {
		for j < len(w) && w[j].Index < x.Index {
			j++
		}
		if j < len(w) && w[j].Index == x.Index {
			sum += float64(x.Value) * float64(w[j].Value)
		}
	}
	return float32(sum)
}

// Largest returns the n elements with the largest absolute values, in the order of their index; all
// for n = 0. Of equal values it keeps those with the lower index. NaN counts as the largest value.
// The result may be v itself.
func (v Vector) Largest(n int) Vector {
	if n == 0 || len(v) <= n {
		return v
	}
	size := func(w Weight) float64 {
		if w.Value != w.Value {
			return math.Inf(1)
		}
		return math.Abs(float64(w.Value))
	}
	byValue := slices.Clone(v)
	slices.SortStableFunc(byValue, func(a, b Weight) int { return cmp.Compare(size(b), size(a)) })
	kept := byValue[:n:n]
	slices.SortFunc(kept, func(a, b Weight) int { return cmp.Compare(a.Index, b.Index) })
	return kept
}
