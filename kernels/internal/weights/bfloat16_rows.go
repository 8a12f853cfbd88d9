package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Rows of A as bfloat16, and their products with panels by tiles.

// Round rounds m rows of A for products with a matrix.
func (r *RoundedRows) Round(b *Matrix, a []float32, lda, m int) {
	const line = 32                             // elements of a cache line
	lines := (filledTiles(b.K)+line-1)/line | 1 // an odd number, so that rows spread over all sets
	r.round(b.Record.ISA, a, lda, m, b.K, line*lines)
}

// Multiply sets c, rows ldc apart, to the products of the first m of the rows with n columns from column j on, whole panels.
func (r *RoundedRows) Multiply(b *Matrix, j, m, n int, c []float32, ldc int) {
	f := b.Record
	simd.BFloat16Tiles(f.ISA, m, filledTiles(b.K), f.NR, n/f.NR, mem.Halves(mem.Bytes(r.pairs)), r.ld, mem.Halves(b.Panel(j, 0)), b.stride/2, c, ldc)
}
