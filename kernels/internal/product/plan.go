package product

import (
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// How a product goes its way.

// One row: gemvDot takes over from gemmDot where B has gemvNear elements and is beyond
// a core's own caches. Where it has gemvFar, it comes from memory. Then gemvDot takes 8
// rows together, as gemvRows takes 6 always, and fetching the next ones gains a sixth
// to a third on Zen 4; nearer, it costs as much. tune.Gemm.RowAhead has where it costs
// from memory too. See doc/measurements/products.md.
const (
	gemvRowsGroup, gemvDotGroup = 6, 8
	gemvNear, gemvFar           = 1 << 17, 1 << 23
)

// operands are what the way is chosen by.
func (g *call) operands() (a left, b right) {
	a.m, a.k, a.ld, a.trans = g.m, g.k, g.a.LD, g.a.Trans
	b.n, b.ld, b.trans = g.n, g.b.LD, g.b.Trans
	if g.b.packed != nil {
		b.format = g.b.packed.Record
	}
	return a, b
}

// decide says how a product of these operands goes the way that was chosen, and in which parts.
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

// prefetches reports whether gemmPanel fetches the next panel while it multiplies
// a panel with m rows. If few rows are multiplied with a packed B, the B comes from memory
// fastest as one stream.
func (g *call) prefetches(m int) bool {
	size := &tune.Used.Gemm
	return g.way.inPlace() || m*size.StreamDen > g.mr*size.StreamNum
}

// planLoops chooses the steps of the loops.
func (g *call) planLoops() {
	g.kc = order.StretchOf(g.k)
	g.finish = g.ep.any() || g.way == halves && g.n%g.nr != 0 // that multiplies by whole panels
	g.slice, g.mc = g.kc, tune.Used.Gemm.MC
	if g.m <= g.mr { // a panel is one run of memory
		g.slice = min(4*g.kc, max(g.k, 1))
	}
	if g.finish {
		g.slice = max(g.k, 1)
	}
	if g.slice > order.Stretch { // fewer rows
		g.mc = min(max(g.mc*order.Stretch/g.slice/g.mr, 2)*g.mr, g.mc)
	}
}
