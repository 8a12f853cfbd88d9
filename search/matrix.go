package search

import "github.com/avoformer/avoformer/kernels"

// This file stores vectors as columns of packed matrices. The products of these with a block of
// queries are the scores.

// store has the vectors that are searched, one segment at a time.
type store interface {
	add(v []float32)
	// view returns a snapshot of the store, which does not change.
	view() view
	// decode sets dst to vector i, as rounded by the store.
	decode(dst []float32, i int)
}

// queries has the queries of a search in the forms that stores need.
type queries struct {
	n, k    int
	vectors []float32 // [n, k], with zeros past the dimension
	signs   []int32   // [words, n], of Binary
}

// view is a snapshot of a store.
type view interface {
	// scores sets row i of dst, rows segment apart, to the scores of query from+i, up to query to,
	// with the vectors of segment part.
	scores(dst []float32, part int, q *queries, from, to int)
}

// panels is a multiple of the columns of a panel on every tier.
const panels = 192

// matrix has vectors in a format of package kernels.
type matrix struct {
	format kernels.Format
	dim, k int // numbers of a vector, and rows of the matrices
	full   []*kernels.PackedB
	tail   []float32        // rows that are not in a matrix yet
	packed *kernels.PackedB // the tail as a matrix, padded with columns of zeros; nil until needed
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

// pack returns the tail as a matrix of n columns, padded with zeros.
func (m *matrix) pack(n int) *kernels.PackedB {
	return kernels.PackBRows(m.format, n, m.k, func(j int, dst []float32) {
		clear(dst)
		if j*m.dim < len(m.tail) {
			copy(dst, m.tail[j*m.dim:][:m.dim])
		}
	})
}

// parts returns all matrices, and packs the tail if needed.
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
