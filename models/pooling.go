package models

import (
	"fmt"
	"math"

	"github.com/avoformer/avoformer/transformer"
)

// Pooling: one vector for all rows of a sequence.

// A pooling sets dst, [sequences, dim], to a vector for each sequence of x, [rows,
// dim].
type pooling func(dst, x []float32, batch Batch, dim int) error

// pooled makes a pooling of what it does with one sequence, which is not empty.
func pooled(f func(dst, rows []float32)) pooling {
	return func(dst, x []float32, batch Batch, dim int) error {
		if len(x) != batch.Rows()*dim || len(dst) != batch.Len()*dim {
			return fmt.Errorf("%w: pooling of %d elements to %d, want rows and sequences of %d", transformer.ErrShape, len(x), len(dst), dim)
		}
		for i := range batch.Len() {
			if batch.Length(i) == 0 {
				return fmt.Errorf("%w: sequence %d is empty", transformer.ErrShape, i)
			}
			f(dst[i*dim:(i+1)*dim], x[batch.Start(i)*dim:batch.Start(i+1)*dim])
		}
		return nil
	}
}

var (
	poolFirst = pooled(func(dst, rows []float32) { copy(dst, rows) })
	poolLast  = pooled(func(dst, rows []float32) { copy(dst, rows[len(rows)-len(dst):]) })
	poolMax   = pooled(func(dst, rows []float32) {
		copy(dst, rows)
		for i, v := range rows {
			d := i % len(dst)
			dst[d] = max(dst[d], v)
		}
	})
	poolMean     = pooled(func(dst, rows []float32) { weighted(dst, rows, same, float64(len(rows)/len(dst))) })
	poolMeanSqrt = pooled(func(dst, rows []float32) { weighted(dst, rows, same, math.Sqrt(float64(len(rows)/len(dst)))) })
	// Later rows weigh more: row i as much as i+1.
	poolWeightedMean = pooled(func(dst, rows []float32) {
		n := len(rows) / len(dst)
		weighted(dst, rows, func(row int) float64 { return float64(row + 1) }, float64(n*(n+1)/2))
	})
)

func same(int) float64 { return 1 }

// weighted sets dst to the sum of rows, each times its weight, over total.
func weighted(dst, rows []float32, weight func(row int) float64, total float64) {
	n := len(rows) / len(dst)
	for d := range dst {
		sum := 0.0
		for r := range n {
			sum += weight(r) * float64(rows[r*len(dst)+d])
		}
		dst[d] = float32(sum / total)
	}
}

// normalizeRows divides each row of x by its Euclidean length, or 1e-12 if that is more.
func normalizeRows(x []float32, dim int) {
	for ; len(x) > 0; x = x[dim:] {
		sum := 0.0
		for _, v := range x[:dim] {
			sum += float64(v) * float64(v)
		}
		length := max(math.Sqrt(sum), 1e-12)
		for i := range dim {
			x[i] = float32(float64(x[i]) / length)
		}
	}
}
