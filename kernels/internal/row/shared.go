package row

import (
	"sync/atomic"

	"github.com/avoformer/avoformer/kernels/internal/mem"
)

// SharedVec is a vector whose elements are all fill. It has the largest length that a call has
// needed, and at most NormElements. It replaces weights and biases that are nil.
type SharedVec struct {
	fill float32
	Vec  atomic.Pointer[[]float32]
}

// SharedOnes replaces weights, and SharedZeros biases.
var SharedOnes, SharedZeros = SharedVec{fill: 1}, SharedVec{fill: 0}

// of returns the first n elements.
func (s *SharedVec) of(n int) []float32 {
	if v := s.Vec.Load(); v != nil && len(*v) >= n {
		return (*v)[:n]
	}
	v := make([]float32, n)
	mem.Fill(v, s.fill)
	s.Vec.Store(&v)
	return v
}

// orNil returns v, or the first n elements of the vector if v is nil. If n is more than
// NormElements, it returns nil for a nil v: such rows are computed piece by piece.
func (s *SharedVec) orNil(v []float32, n int) []float32 {
	if v != nil || n > NormElements {
		return v
	}
	return s.of(n)
}

// piece returns elements [from, to) of v, at most SumElements of them. If v is nil, it returns
// elements of the vector.
func (s *SharedVec) piece(v []float32, from, to int) []float32 {
	if v == nil {
		return s.of(SumElements)[:to-from]
	}
	return v[from:to]
}
