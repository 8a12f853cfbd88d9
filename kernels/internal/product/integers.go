package product

import (
	"math"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file has the loops for a B of integers.

// int8Panels computes a block with a packed B of int8 or in blocks.
func (b *block) int8Panels() {
	g, packed, nr := b.g, b.b.packed, b.g.nr
	method := packed.Method(b.m)
	rows := order.Evenly(b.m, method.Rows, method.Multiple)
	s := scratches.Get().(*scratch)
	s.sums = mem.Grow(s.sums, rows*nr)
	x := weights.Product{Format: packed.Record}
	a := g.prepared
	for i := 0; i < b.m; i += rows {
		x.I, x.M = i, min(rows, b.m-i)
		if g.prepared == nil {
			if a, x.I = &s.int8, 0; !b.held(&s.integers, i, x.M) {
				a.Quantize(packed, b.a.Data[i*b.a.LD:], b.a.LD, x.M)
			}
		}
		method = packed.Method(x.M)
		if method.Panels > 0 {
			b.tiles(s, a, &method, x.I, i, x.M, b.int8InC())
			continue
		}
		if x.Kernel = method.Kernel; x.Kernel == simd.KernelInt8Winograd {
			a.OfRows(g.isa, x.I, x.M, g.k)
		}
		for j := 0; j < b.n; j += nr {
			b.int8Panel(s, a, x, method.Piece, i, j)
		}
	}
	scratches.Put(s)
}

// int8Panel multiplies rows of integers by the panel of column j, for row i of the block and the
// rows after it. It and the functions that it calls receive a copy of x: storing to x would move
// the call to the heap with everything that it points to.
func (b *block) int8Panel(s *scratch, a *weights.RowsOfA, x weights.Product, piece, i, j int) {
	g, packed, nr := b.g, b.b.packed, b.g.nr
	n := min(nr, b.n-j)
	inC := n == nr && b.int8InC()
	x.C, x.LDC, x.Scales, x.Bias = s.sums, nr, nil, nil
	if inC {
		x.C, x.LDC = b.c[i*g.ldc+j:], g.ldc
	}
	if scales := packed.Scales(); scales != nil {
		scales = scales[b.b.column+j:][:nr]
		if g.k > simd.Int8Stretch {
			b.int8Stretches(s, a, x, piece, j, scales)
			b.finishSums(s.sums, i, j, x.M, n)
			return
		}
		x.Scales = scales
	}
	if inC && b.ep.Bias != nil {
		x.Bias = b.ep.Bias[j:][:nr]
	}
	b.int8Steps(a, x, piece, j, 0, g.k)
	if !inC {
		b.finishSums(s.sums, i, j, x.M, n)
	}
}

// int8Steps computes a product for the steps [from, to) of k, in pieces of a panel of the given
// bytes, which stay in the first-level cache. Only the last piece has the scales of the columns,
// and the bias.
func (b *block) int8Steps(a *weights.RowsOfA, x weights.Product, piece, j, from, to int) {
	unit := max(simd.RotateBlock, x.Format.Steps)
	kc := max(piece/b.g.nr, unit) / unit * unit
	scales, bias := x.Scales, x.Bias
	x.Scales, x.Bias = nil, nil
	for x.P = from; x.P < to; x.P += kc {
		if x.K = min(kc, to-x.P); x.P+x.K == to {
			x.Scales, x.Bias = scales, bias
		}
		x.B = b.b.packed.Panel(b.b.column+j, x.P)
		a.MultiplyAndFetch(&x)
	}
}

// int8Stretches computes a product of rows of several stretches with columns of int8. It converts
// their sums to floats, multiplies them by the rows' scales, adds them up one after the other, and
// then multiplies them by the scales of the columns.
func (b *block) int8Stretches(s *scratch, a *weights.RowsOfA, x weights.Product, piece, j int, scales []float32) {
	nr := b.g.nr
	total := make([]float32, x.M*nr)
	x.C, x.LDC = s.sums, nr
	for from := 0; from < b.g.k; from += simd.Int8Stretch {
		b.int8Steps(a, x, piece, j, from, min(from+simd.Int8Stretch, b.g.k))
		for i := range x.M {
			scale := a.Scale(x.I+i, from)
			for t, sum := range s.sums[i*nr:][:nr] {
				total[i*nr+t] += float32(float32(int32(math.Float32bits(sum))) * scale)
			}
		}
	}
	for i, sum := range total {
		s.sums[i] = sum * scales[i%nr]
	}
}

// int8InC reports whether the micro-kernel can write C, with at most a bias, and can keep its
// integer sums elsewhere until then: rows of C may evict each other from the cache.
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
