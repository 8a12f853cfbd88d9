package search

import (
	"encoding/binary"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels"
)

// This file stores vectors row by row, in parts of one segment each. A full part never moves, so
// that a search can read the vectors that existed when it began while more are added.

// rows has vectors of width elements.
type rows[T any] struct {
	width int
	full  [][]T // of one segment each
	tail  []T   // less than a segment
}

func (r *rows[T]) len() int { return len(r.full)*segment + len(r.tail)/r.width }

func (r *rows[T]) add(row []T) {
	r.tail = append(r.tail, row...)
	if len(r.tail) == segment*r.width {
		r.full, r.tail = append(r.full, r.tail), nil
	}
}

// part returns segment i, which may be the tail.
func (r *rows[T]) part(i int) []T {
	if i < len(r.full) {
		return r.full[i]
	}
	return r.tail
}

// row returns vector i.
func (r *rows[T]) row(i int) []T {
	return r.part(i / segment)[i%segment*r.width:][:r.width]
}

// rowStore has vectors that are scored one by one.
type rowStore interface {
	add(v []float32)
	view() rowView
	decode(dst []float32, i int)
}

// rowView is a snapshot of a rowStore.
type rowView interface {
	// dot returns the dot product of a query and vector i. x is scratch memory for a vector.
	dot(query []float32, i int, x []float32) float32
}

// floatRows has vectors in float32.
type floatRows struct{ rows[float32] }

func (r *floatRows) view() rowView               { v := *r; return &v }
func (r *floatRows) decode(dst []float32, i int) { copy(dst, r.row(i)) }

func (r *floatRows) dot(query []float32, i int, _ []float32) float32 { return dot(query, r.row(i)) }

// byteRows has vectors in blocks of Q8_0.
type byteRows struct {
	rows[byte]
	padded []float32 // scratch memory for one vector
	bytes  []byte
}

const (
	block      = 32 // numbers of a block of Q8_0
	blockBytes = 34 // scale and integers of a block
	maxInt8    = 127 * 65504.0
)

// padded returns dim rounded up to whole blocks.
func padded(dim int) int { return (dim + block - 1) / block * block }

func newByteRows(dim int) *byteRows {
	k := padded(dim)
	return &byteRows{rows[byte]{width: k / block * blockBytes}, make([]float32, k), make([]byte, k/block*blockBytes)}
}

func (r *byteRows) add(v []float32) {
	copy(r.padded, v)
	kernels.FormatQ8_0.Quantize(r.bytes, r.padded)
	r.rows.add(r.bytes)
}

func (r *byteRows) view() rowView               { return &byteRows{rows: r.rows} }
func (r *byteRows) decode(dst []float32, i int) { decodeBlocks(dst, r.row(i)) }

func (r *byteRows) dot(query []float32, i int, x []float32) float32 {
	decodeBlocks(x, r.row(i))
	return dot(query, x)
}

// decodeBlocks sets x to the numbers in blocks. The last block may have more numbers than x needs.
func decodeBlocks(x []float32, blocks []byte) {
	for i := 0; i < len(x); i += block {
		b := blocks[i/block*blockBytes:][:blockBytes]
		scale := half.Float16(binary.LittleEndian.Uint16(b))
		for j := range x[i:min(i+block, len(x))] {
			x[i+j] = scale * float32(int8(b[2+j]))
		}
	}
}

// dot returns the dot product of two vectors of one length.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + (s2 + s3)
}
