package ref

// AttentionParams describes scaled dot-product attention over one head. Rows are contiguous: Q is
// LenQ x Dim, K is LenK x Dim, V is LenK x DimV.
type AttentionParams struct {
	LenQ, LenK, Dim, DimV int
	Q, K, V               []float64
	Scale                 float64
	// Relative is added to the scores before, Bias after they are scaled. Each is LenQ x LenK, or
	// nil.
	Relative, Bias []float64
	// Visible says which keys a query sees; nil lets it see all.
	Visible func(q, k int) bool
	// HeadMask, unless nil, multiplies the LenQ x LenK weights after softmax.
	HeadMask []float64
}

// Attention returns the LenQ x DimV output and the LenQ x LenK weights of softmax((Q*K' +
// relative)*scale + bias)*V. A query that sees nothing has weights and output 0.
func Attention(p AttentionParams) (out, weights []float64) {
	weights = make([]float64, p.LenQ*p.LenK)
	Gemm(false, true, p.LenQ, p.LenK, p.Dim, 1, p.Q, p.Dim, p.K, p.Dim, 0, weights, p.LenK)
	for i := range p.Relative {
		weights[i] += p.Relative[i]
	}
	MaskedSoftmax(weights, weights, p.LenQ, p.LenK, p.Scale, p.Bias, p.Visible)
	for i := range p.HeadMask {
		weights[i] *= p.HeadMask[i]
	}
	out = make([]float64, p.LenQ*p.DimV)
	Gemm(false, false, p.LenQ, p.DimV, p.LenK, 1, weights, p.LenK, p.V, p.DimV, 0, out, p.DimV)
	return out, weights
}
