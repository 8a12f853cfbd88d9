package search

import "github.com/avoformer/avoformer/kernels"

// This file holds vectors as columns of packed matrices, whose products with a block of queries are
// their scores.

// store holds vectors that are searched, a segment at a time.
type store interface {
	add(v []float32)
	// view is a snapshot of the store. It does not change.
	view() view
	// decode sets dst to vector i, as it is held.
	decode(dst []float32, i int)
}

// queries has the queries of a search in the forms that stores need.
type queries struct {
	n, k    int
	vectors []float32 // [n, k], of numbers past the dimension zeros
	signs   []int32   // [words, n], of Binary
}

// view is a snapshot of a store.
type view interface {
	// scores sets row i of dst, rows segment apart, to the scores of query from+i, up to query to,
	// with the vectors of segment part.
	scores(dst []float32, part int, q *queries, from, to int)
}

// panels is a multiple of the columns that a panel has on every tier.
const panels = 192

// matrix holds vectors in a format of kernels.
type matrix struct {
	format kernels.Format
	dim, k int // numbers of a vector, and rows of the matrices
	full   []*kernels.PackedB
	tail   []float32        // rows of what has not become a matrix
	packed *kernels.PackedB // the tail, with columns of zeros; nil while it has not been asked for
}

func newMatrix(dim int, p Precision) *matrix {
	if p == Int8 {
		return &matrix{format: kernels.FormatQ8_0, dim: dim, k: padded(dim)}
	}
	return &matrix{format: kernels.FormatF32, dim: dim, k: dim}
}

func (m *matrix) add(v []float32) {
	m.packed = nil
	m.tail = append(m.tail, v...)
	if len(m.tail) == segment*m.dim {
		m.full, m.tail = append(m.full, m.pack(segment)), m.tail[:0]
	}
}

// pack makes a matrix of n columns of the tail.
func (m *matrix) pack(n int) *kernels.PackedB {
	return kernels.PackBRows(m.format, n, m.k, func(j int, dst []float32) {
		clear(dst)
		if j*m.dim < len(m.tail) {
			copy(dst, m.tail[j*m.dim:][:m.dim])
		}
	})
}

// parts returns all matrices.
func (m *matrix) parts() []*kernels.PackedB {
	if len(m.tail) == 0 {
		return m.full
	}
	if m.packed == nil {
		m.packed = m.pack((len(m.tail)/m.dim + panels - 1) / panels * panels)
	}
	return append(m.full[:len(m.full):len(m.full)], m.packed)
}

func (m *matrix) decode(dst []float32, i int) {
	x := make([]float32, m.k)
	m.parts()[i/segment].Column(x, i%segment)
	copy(dst, x)
}

func (m *matrix) view() view { return matrixView(m.parts()) }

type matrixView []*kernels.PackedB

func (v matrixView) scores(dst []float32, part int, q *queries, from, to int) {
	b := v[part]
	k := b.K()
	kernels.GemmPacked(to-from, 1, q.vectors[from*k:to*k], k, b, 0, dst, segment, kernels.Epilogue{})
}
