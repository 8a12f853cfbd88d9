package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// This file has rows of A as bfloat16, and their products with panels.

// Round rounds m rows of A for products with a matrix.
func (r *RoundedRows) Round(b *Matrix, a []float32, lda, m int) {
	const line = 32                             // elements of a cache line
	lines := (filledPairs(b.K)+line-1)/line | 1 // an odd number, so that rows use all sets of the cache
	r.round(b.Record.ISA, a, lda, m, b.K, line*lines)
}

// streamRows is the number of rows up to which a product takes no longer than the hardware's
// prefetching, which reads panels as one stream.
const streamRows = 3

// Multiply sets c, with rows ldc apart, to the products of the first m of the rows and n columns
// from column j on, in whole panels.
func (r *RoundedRows) Multiply(b *Matrix, j, m, n int, c []float32, ldc int) {
	f, k := b.Record, filledPairs(b.K)
	halves := mem.Halves(mem.Bytes(r.pairs))
	if f.kernel == simd.KernelBFloat16Tiles {
		simd.BFloat16Tiles(f.ISA, m, k, f.NR, n/f.NR, halves, r.ld, mem.Halves(b.Panel(j, 0)), b.stride/2, c, ldc)
		return
	}
	size := &tune.Used.Gemm
	piece := max(size.Int8Panel/f.bytes, 1) * f.Steps // of k: a piece of a panel stays in the first-level cache
	first, ahead := m, size.Ahead                     // rows of the first tile, which fetches ahead for all rows
	switch {
	case m > f.MR:
		if first = f.MR; m < 2*f.MR {
			first = (m + 1) / 2
		}
		ahead = piece / f.Steps * f.bytes
	case m > streamRows:
		ahead = max(ahead, size.AheadBytes)
	}
	for q := 0; q < n; q += f.NR {
		for p := 0; p < k; p += piece {
			steps, panel := min(piece, k-p), mem.Halves(b.Panel(j+q, p))
			simd.BFloat16Pairs(f.ISA, first, steps, f.NR, halves[p:], r.ld, panel, ahead, p, c[q:], ldc)
			simd.BFloat16Pairs(f.ISA, m-first, steps, f.NR, halves[min(first, m-1)*r.ld+p:], r.ld, panel, 0, p, c[min(first, m-1)*ldc+q:], ldc)
		}
	}
}
