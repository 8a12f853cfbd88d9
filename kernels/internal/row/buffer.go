package row

import "sync"

// SumElements is the length of the longest row that is summed in one piece. The sums of the pieces
// of longer rows are added in float64, which bounds the error.
const SumElements = 1 << 13

// rowBuffer holds the exponentials of a row, or differences. It is two vectors longer than
// SoftmaxPiece, as softmaxRows requires for results that are written past the caches.
type rowBuffer [2*SumElements + TwoVectors]float32

// TwoVectors is the number of elements in two vectors of the widest tier.
const TwoVectors = 32

var rowBuffers = sync.Pool{New: func() any { return new(rowBuffer) }}
