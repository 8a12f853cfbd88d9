package product

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// The loops over a B for tiles of bfloat16.

// bfloat16Tiles computes a block. Where sums are all that C is to have, the kernel writes whole panels of them to C; all others become
// elements of C panel by panel.
func (b *block) bfloat16Tiles() {
	g, packed, nr := b.g, b.b.packed, b.g.nr
	method := packed.Method(b.m)
	rows, columns := tune.Evenly(b.m, method.Rows, method.Multiple), method.Panels*nr
	inC := g.alpha == 1 && g.beta == 0 && !b.ep.any()
	s := scratches.Get().(*scratch)
	s.sums = mem.Grow(s.sums, rows*nr)
	for i := 0; i < b.m; i += rows {
		m := min(rows, b.m-i)
		s.rounded.Round(packed, b.a.Data[i*b.a.LD:], b.a.LD, m)
		for j := 0; j < b.n; j += columns {
			n, done := min(columns, b.n-j), 0
			if inC {
				if done = n / nr * nr; done > 0 {
					s.rounded.Multiply(packed, b.b.column+j, m, done, b.c[i*g.ldc+j:], g.ldc)
				}
			}
			b.finishTiles(s, i, j+done, m, n-done)
		}
	}
	scratches.Put(s)
}

// finishTiles multiplies the m rows of A that are rounded, from row i of the block on, with n columns from column j, and finishes the sums.
func (b *block) finishTiles(s *scratch, i, j, m, n int) {
	if n == 0 {
		return
	}
	g, nr := b.g, b.g.nr
	filled := (n + nr - 1) / nr * nr
	s.rounded.Sums = mem.Grow(s.rounded.Sums, m*filled)
	s.rounded.Multiply(b.b.packed, b.b.column+j, m, filled, s.rounded.Sums, filled)
	for q := 0; q < n; q += nr {
		simd.CopyRows(g.isa, s.sums, s.rounded.Sums[q:], m, nr, nr, filled)
		b.finishInt8(s.sums, i, j+q, m, min(nr, n-q))
	}
}
