package product

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file has the loops for a B for tiles, and for a B of pairs of bfloat16.

// bfloat16Pairs computes a block with a B in pairs of bfloat16.
func (b *block) bfloat16Pairs() {
	g, packed := b.g, b.b.packed
	method := packed.Method(b.m)
	rows := order.Evenly(b.m, method.Rows, method.Multiple)
	s := scratches.Get().(*scratch)
	s.sums = mem.Grow(s.sums, rows*g.nr)
	for i := 0; i < b.m; i += rows {
		m := min(rows, b.m-i)
		if !b.held(&s.pairs, i, m) {
			s.rounded.Round(packed, b.a.Data[i*b.a.LD:], b.a.LD, m)
		}
		b.tiles(s, nil, &method, 0, i, m, g.alpha == 1 && g.beta == 0 && !b.ep.any())
	}
	scratches.Put(s)
}

// tiles multiplies m rows by some panels at a time. The rows are of integers beginning with row
// first of a, or of bfloat16, and are the block's rows from row i on. If inC is true, the kernel
// writes whole panels of C, with the bias if there is one. All other products become elements of C
// panel by panel.
func (b *block) tiles(s *scratch, a *weights.RowsOfA, method *weights.Method, first, i, m int, inC bool) {
	g, nr := b.g, b.g.nr
	for j := 0; j < b.n; j += method.Panels * nr {
		n, whole := min(method.Panels*nr, b.n-j), 0
		if inC {
			if whole = n / nr * nr; whole > 0 {
				var bias []float32
				if b.ep.Bias != nil {
					bias = b.ep.Bias[j:][:whole]
				}
				b.multiplyTiles(s, a, first, j, m, whole, bias, b.c[i*g.ldc+j:], g.ldc)
			}
		}
		if whole == n {
			continue
		}
		filled := (n - whole + nr - 1) / nr * nr
		s.strip = mem.Grow(s.strip, m*filled)
		b.multiplyTiles(s, a, first, j+whole, m, filled, nil, s.strip, filled)
		for q := whole; q < n; q += nr {
			simd.CopyRows(g.isa, s.sums, s.strip[q-whole:], m, nr, nr, filled)
			b.finishSums(s.sums, i, j+q, m, min(nr, n-q))
		}
	}
}

// multiplyTiles calls the kernel for n columns, beginning with column j of the block.
func (b *block) multiplyTiles(s *scratch, a *weights.RowsOfA, first, j, m, n int, bias, c []float32, ldc int) {
	if j += b.b.column; a == nil {
		s.rounded.Multiply(b.b.packed, j, m, n, c, ldc)
		return
	}
	s.tileWork = mem.Grow(s.tileWork, simd.BlockTileWork)
	a.MultiplyTiles(b.b.packed, first, j, m, n, s.tileWork, bias, c, ldc)
}
