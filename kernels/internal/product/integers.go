package product

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// The loops over a B of integers.

// int8Panels computes a block with a packed B of int8.
func (b *block) int8Panels() {
	g, packed, nr := b.g, b.b.packed, b.g.nr
	scales := packed.Scales()
	rows := tune.Evenly(b.m, tune.Used.Gemm.Int8Rows, g.mr)
	unit, panel := max(simd.Int8Block, packed.Record.Steps), tune.Used.Gemm.Int8Panel
	if weights.WinogradFor(g.isa, packed.Record.Kind, b.m) {
		panel = tune.Used.Gemm.WinogradPanel
	}
	kc := max(panel/nr, unit) / unit * unit
	last := (g.k - 1) / kc * kc
	s := scratches.Get().(*scratch)
	s.sums = mem.Grow(s.sums, rows*nr)
	x := weights.Product{Format: packed.Record}
	for i := 0; i < b.m; i += rows {
		x.I, x.M = 0, min(rows, b.m-i)
		s.int8.Quantize(x.Format, b.a.Data[i*b.a.LD:], b.a.LD, x.M, g.k)
		if x.Winograd = weights.WinogradFor(g.isa, x.Format.Kind, x.M); x.Winograd {
			s.int8.OfRows(g.isa, x.M, g.k)
		}
		for j := 0; j < b.n; j += nr {
			n := min(nr, b.n-j)
			x.C, x.LDC = s.sums, nr
			inC := n == nr && b.int8InC()
			if inC {
				x.C, x.LDC = b.c[i*g.ldc+j:], g.ldc
			}
			x.Scales, x.Bias = nil, nil
			for x.P, x.K = 0, kc; x.P < last; x.P += kc {
				x.B = packed.Panel(b.b.column+j, x.P)
				s.int8.MultiplyAndFetch(&x)
			}
			x.K, x.B = g.k-last, packed.Panel(b.b.column+j, last)
			if scales != nil {
				x.Scales = scales[b.b.column+j:][:nr]
			}
			if inC && b.ep.Bias != nil {
				x.Bias = b.ep.Bias[j:][:nr]
			}
			s.int8.MultiplyAndFetch(&x)
			if !inC {
				b.finishInt8(s.sums, i, j, x.M, n)
			}
		}
	}
	scratches.Put(s)
}

// int8InC reports whether the micro-kernel can write C, with a bias but no more, and keeps
// its sums elsewhere until then: rows of C may push each other out of the cache.
func (b *block) int8InC() bool {
	g := b.g
	if g.alpha != 1 || g.beta != 0 || b.ep.Activation != Identity || b.ep.Residual != nil {
		return false
	}
	switch b.b.packed.Record.Kind {
	case weights.Int8Quads, weights.Int8Pairs:
		return true
	case weights.Blocks:
		return b.ep.Bias == nil
	}
	return false
}

// finishInt8 writes m x n sums, NR apart, to C at row i and column j of the block, with
// all that is asked for besides the product. The sums may be lost.
func (b *block) finishInt8(sums []float32, i, j, m, n int) {
	g := b.g
	c := b.c[i*g.ldc+j:]
	if g.alpha != 1 {
		simd.ScaleVec(g.isa, sums[:m*g.nr], sums[:m*g.nr], g.alpha)
	}
	if g.beta != 0 {
		for i := range m {
			for j, y := range c[i*g.ldc:][:n] {
				sums[i*g.nr+j] += float32(g.beta * y)
			}
		}
	}
	if b.ep.any() {
		b.finish(c, sums, i, j, m, n)
		return
	}
	simd.CopyRows(g.isa, c, sums, m, n, g.ldc, g.nr)
}
