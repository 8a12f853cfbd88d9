package row

import (
	"sync/atomic"

	"github.com/avoformer/avoformer/kernels/internal/mem"
)

// SharedVec is a vector whose elements are all fill, as long as any call has needed it, and at most
// NormElements. It stands in for weights and biases that are nil.
type SharedVec struct {
	fill float32
	Vec  atomic.Pointer[[]float32]
}

// SharedOnes stands in for weights, SharedZeros for biases.
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

// orNil is v, or the first n elements if v is nil. If n is more than NormElements a nil v stays
// nil: such rows go piece by piece.
func (s *SharedVec) orNil(v []float32, n int) []float32 {
	if v != nil || n > NormElements {
		return v
	}
	return s.of(n)
}

// piece is elements [from, to) of v, at most SumElements, where v may be nil.
func (s *SharedVec) piece(v []float32, from, to int) []float32 {
	if v == nil {
		return s.of(SumElements)[:to-from]
	}
	return v[from:to]
}
