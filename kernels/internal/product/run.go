package product

import (
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has the parts of a product, which threads compute, and blocks of neighbouring parts,
// which are computed as products of their own.

// run computes the product on up to t threads.
func (g *call) run(t int) {
	a, b := g.operands()
	g.runWay(t, wayOf(a, b), a, b)
}

// runWay runs a product of these operands after the choice of the way.
func (g *call) runWay(t int, w way, a left, b right) {
	if g.way = w; w == rowByRows {
		(*gemvCall)(g).run(t)
		return
	}
	t = par.Most(t, nanoseconds(g.workOf()*g.batch))
	g.decide(t, a, b)
	parts := g.cutM * g.cutN * g.batch
	switch {
	case parts == 1:
		g.block(0, 0, 0, g.m, g.n)
		return
	case t <= 1:
		g.Do(0, parts)
		return
	}
	g.count()
	p := calls.Get().(*call)
	*p = *g
	par.Run(t, parts, p)
	*p = call{}
	calls.Put(p)
}

// count numbers the call, if it needs a number.
func (g *call) count() {
	if g.converts() {
		g.number = numbers.Add(1)
	}
}

// Do implements par.Task: neighbouring parts of a band are one block.
func (g *call) Do(from, to int) {
	bands, inBand := g.cutM, g.cutN
	if g.byRows {
		bands, inBand = g.cutN, g.cutM
	}
	for from < to {
		item, band, first := from/(bands*inBand), from/inBand%bands, from%inBand
		last := min(first+to-from, inBand)
		i0, i1, j0, j1 := band, band+1, first, last
		if g.byRows {
			i0, i1, j0, j1 = j0, j1, i0, i1
		}
		i, j := i0*g.tall, j0*g.wide
		m, n := min(i1*g.tall, g.m)-i, min(j1*g.wide, g.n)-j
		g.block(item, i, j, m, n)
		from += last - first
	}
}

// block computes m rows from row i and n columns from column j of a product of the batch. It sets
// fields one by one, as set does.
func (g *call) block(item, i, j, m, n int) {
	if m <= 0 || n <= 0 {
		return
	}
	if g.oneCall && m*n <= nearWork/g.k {
		simd.GemmNear(g.isa, m, n, g.k, g.alpha, g.a.At(item*g.strideA, i), g.a.LD, g.b.At(item*g.strideB, j), g.b.LD, g.beta, g.c[item*g.strideC+i*g.ldc+j:], g.ldc)
		return
	}
	var b block
	b.g, b.m, b.n = g, m, n
	b.a.Data, b.a.LD, b.a.Trans = g.a.At(item*g.strideA, i), g.a.LD, g.a.Trans
	if b.b.packed, b.b.column = g.b.packed, j; b.b.packed == nil {
		b.b.Data, b.b.LD, b.b.Trans = g.b.At(item*g.strideB, j), g.b.LD, g.b.Trans
	}
	b.c, b.top = g.c[item*g.strideC+i*g.ldc+j:], item*g.m+i
	if g.finish {
		b.ep = g.ep.from(i, j)
	}
	switch ways[g.way].runs {
	case panelsOfB:
		b.panels()
	case dotsOfRows:
		b.dot()
	case rowOfPanels:
		b.row()
	case integersOfA:
		b.int8Panels()
	case bfloat16OfA:
		b.bfloat16Pairs()
	}
}
