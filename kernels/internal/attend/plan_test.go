package attend

import "math"

// contiguous completes the arguments of a call on contiguous tensors.
func contiguous(p Params) Params {
	p.KVHeads, p.ValueDim, p.Scale = p.Heads, p.HeadDim, float32(1/math.Sqrt(float64(p.HeadDim)))
	of := func(length int) Strides {
		return Strides{Batch: p.Heads * length * p.HeadDim, Head: length * p.HeadDim, Row: p.HeadDim}
	}
	p.DstStrides, p.QStrides, p.KStrides, p.VStrides = of(p.LenQ), of(p.LenQ), of(p.LenK), of(p.LenK)
	return p
}
