package product

import (
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// This file plans a product after the choice of its way.

// For one row, gemvDot replaces gemmDot if B has gemvNear elements and is not in a core's own
// caches. With gemvFar elements B comes from memory. Then gemvDot multiplies 8 rows together, as
// gemvRows always multiplies 6, and fetching the next rows gains a sixth to a third on Zen 4; if B
// is nearer, it loses the same. On processors where it loses even from memory, tune.Gemm.RowAhead
// fetches elements of the current rows instead. See doc/measurements/products.md.
const (
	gemvRowsGroup, gemvDotGroup = 6, 8
	gemvNear, gemvFar           = 1 << 17, 1 << 23
)

// operands returns the data on which the choice of the way depends.
func (g *call) operands() (a left, b right) {
	a.m, a.k, a.ld, a.trans = g.m, g.k, g.a.LD, g.a.Trans
	b.n, b.ld, b.trans = g.n, g.b.LD, g.b.Trans
	if g.b.packed != nil {
		b.format = g.b.packed.Record
	}
	return a, b
}

// decide plans how a product of these operands is computed in the chosen way, and in which parts.
func (g *call) decide(t int, a left, b right) {
	size, packed := &tune.Used.Gemm, g.b.packed
	g.mr, g.nr = simd.GemmTile(g.isa)
	if packed != nil {
		g.mr, g.nr = packed.Record.MR, packed.Record.NR
	}
	if ways[g.way].runs == panelsOfB {
		g.copyA = copiesA(a, b)
		if g.way.inPlace() {
			g.wideTiles = g.m*size.WideDen <= g.mr*size.WideNum && (2*g.m <= g.mr || !tune.CrowdsFar(g.k, g.b.LD))
		}
	}
	g.planLoops()
	g.oneCall = g.way == near && !g.copyA && g.k <= g.kc
	g.partition(t)
}

// prefetches reports whether gemmPanel fetches the next panel while it multiplies m rows by a
// panel. If few rows are multiplied by a packed B, B comes from memory fastest as one stream.
func (g *call) prefetches(m int) bool {
	size := &tune.Used.Gemm
	return g.way.inPlace() || m*size.StreamDen > g.mr*size.StreamNum
}

// planLoops chooses the steps of the loops.
func (g *call) planLoops() {
	g.kc = order.StretchOf(g.k)
	g.finish = g.ep.any() || g.way == halves && g.n%g.nr != 0 // the way multiplies by whole panels
	g.slice, g.mc = g.kc, tune.Used.Gemm.MC
	if g.m <= g.mr { // a panel is then one run of memory
		g.slice = min(4*g.kc, max(g.k, 1))
	}
	if g.finish {
		g.slice = max(g.k, 1)
	}
	if g.slice > order.Stretch { // blocks then have fewer rows
		g.mc = min(max(g.mc*order.Stretch/g.slice/g.mr, 2)*g.mr, g.mc)
	}
}
