package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/vec"
)

// The GEMM micro-kernel for any machine with the vocabulary of products. On NEON, a tile of 6x16 fills the
// register file: 24 accumulators, 6 registers of A and 2 of B.
//
// A is read in place, 4 steps of k at a time from each row, and multiplied by lane. Where instructions take a
// lane, nothing is broadcast: for 96 multiply-adds NEON has 6 loads of A and 8 pairs of loads of B. The
// machine needs no masks: a narrower panel is cut into strips of half as many columns, down to one. Each
// strip is a pass over the rows with loads of exactly its size. There is a tile for each number of rows, and
// the tiles of a product have nearly equal height. Whatever the tile, each element of C is summed in the
// order of k.

// AnyGemmPanel and AnyGemmPack are GemmPanel and GemmPack for machines without their own version.
var (
	AnyGemmPanel = Only(func(m vec.Tiler) {
		g := newPanel(m)
		nr, n := m.Tier().Gemm.NR, g.IntParam("n")
		g.mr /= 2
		for strip, width := 1, 2*nr; width > 0; strip, width = strip+1, width/2 {
			next := fmt.Sprintf("narrower%d", strip)
			g.Compare(n, width)
			g.BranchIf(vec.LT, next)
			g.rows(width)
			g.mr = m.Tier().Gemm.MR
			if width > 1 {
				g.Subtract(n, width)
				g.Bump(g.b, 4*width)
				g.Bump(g.c, 4*width)
			}
			g.Label(next)
		}
	})

	AnyGemmPack = Only(func(m vec.Tiler) {
		g := newPanel(m)
		g.packed = g.SlicePtr("dst")
		g.tile(g.KeepPtr("a"), g.c, g.mr, m.Tier().Gemm.NR, func(what string) string { return what })
	})
)

func newPanel(m vec.Tiler) *panel {
	g := &panel{Tiler: m, mr: m.Tier().Gemm.MR}
	g.b, g.c = g.SlicePtr("b"), g.SlicePtr("c")
	g.lda, g.ldb, g.ldc = g.stride("lda"), g.stride("ldb"), g.stride("ldc")
	g.beta = g.Magnitude("beta")
	return g
}

// panel has what all tiles share.
type panel struct {
	vec.Tiler
	mr            int
	b, c          vec.Ptr // the strip's first column
	lda, ldb, ldc vec.Int // in bytes
	beta          vec.Int // 0 if beta is 0
	packed        vec.Ptr // where to store the rows of B, or the zero value
}

// stride loads a leading dimension and converts it to bytes.
func (g *panel) stride(param string) vec.Int {
	n := g.IntParam(param)
	g.MultiplyTo(n, 4)
	return n
}

// rows emits the tiles of a strip and the loop over them.
func (g *panel) rows(width int) {
	m, a, c := g.KeepInt("m"), g.KeepPtr("a"), g.CopyPtr(g.c)
	deal(g, g.mr, fmt.Sprintf("x%d", width), m.Int, func(h int, label func(string) string) {
		g.tile(a, c, h, width, label)
		a.AddRows(h, g.lda, 1)
		m.Add(-h)
	})
}

// panelTile is the state of a tile during its emission.
type panelTile struct {
	*panel
	width int
	label func(string) string
	acc   [][]vec.V
	a     vec.Lanes
	b     vec.Ptr // the next row of B
}

// tile emits C[0:h, strip] = alpha * A[0:h, 0:k] * B + beta * C, and moves c down by h rows.
func (g *panel) tile(a vec.Kept, c vec.Ptr, h, width int, label func(string) string) {
	t := &panelTile{panel: g, width: width, label: label, acc: make([][]vec.V, h)}
	t.a = g.Lanes(a, func() vec.Int { return g.lda }, 1, h)
	for i := range t.acc {
		for range max(1, width/g.Width()) {
			t.acc[i] = append(t.acc[i], g.Zero())
		}
	}
	t.sum()
	t.scaleAndStore(c)
}

// sum emits the loop over k, four steps at a time.
func (t *panelTile) sum() {
	const unroll = 4
	k := t.IntParam("k")
	t.b = t.CopyPtr(t.panel.b)
	t.CountDown(k, unroll, vec.LT, t.label("rest"))
	t.Label(t.label("loop"))
	t.a.Load(0, unroll)
	for lane := range unroll {
		t.step(lane)
	}
	t.a.Next(unroll)
	t.CountDown(k, unroll, vec.GE, t.label("loop"))
	t.Label(t.label("rest"))
	t.Raise(k, unroll)
	t.BranchIfZero(k, t.label("sum"))
	t.Label(t.label("one"))
	t.a.Load(0, 1)
	t.step(0)
	t.a.Next(1)
	t.CountDown(k, 1, vec.NE, t.label("one"))
	t.Label(t.label("sum"))
}

// step adds the outer product of a column of A (a lane of each row) and a row of B.
func (t *panelTile) step(lane int) {
	vectors := len(t.acc[0])
	for j := 0; j < vectors; j += 2 {
		bv := t.load(t.b, j)
		if t.packed != (vec.Ptr{}) {
			t.StoreTwo(t.packed, 0, bv[0], bv[1])
			t.Bump(t.packed, 8*t.Width())
		}
		if j+2 >= vectors {
			t.BumpBytes(t.b, t.ldb, 1)
		}
		for jj, v := range bv {
			for i := range t.acc {
				t.FMALane(t.acc[i][j+jj], t.a.Lane(i, lane), v)
			}
		}
	}
}

// scaleAndStore ends the tile, and moves c down.
func (t *panelTile) scaleAndStore(c vec.Ptr) {
	var old vec.Ptr
	tileEnd{acc: t.acc,
		unlessAlpha1: func(body func()) { body() },
		unlessBeta0: func(body func()) {
			t.BranchIfZero(t.beta, t.label("store"))
			old = t.CopyPtr(c)
			body()
			t.Label(t.label("store"))
		},
		load: func(i, j int) []vec.V {
			vs := t.load(old, j)
			if j+len(vs) == len(t.acc[i]) {
				t.BumpBytes(old, t.ldc, 1)
			}
			return vs
		},
		store: func(i int) {
			t.store(c, t.acc[i])
			t.BumpBytes(c, t.ldc, 1)
		},
	}.emit(t)
}

// load loads vector j of a row of the strip, and vector j+1 if the strip has it.
func (t *panelTile) load(p vec.Ptr, j int) []vec.V {
	switch {
	case t.width < t.Width():
		return []vec.V{t.LoadLanes(p, t.width)}
	case t.width == t.Width():
		return []vec.V{t.Load(p, 0)}
	}
	v, w := t.LoadTwo(p, 4*j*t.Width())
	return []vec.V{v, w}
}

// store stores a row of the strip.
func (t *panelTile) store(p vec.Ptr, row []vec.V) {
	switch {
	case t.width < t.Width():
		t.StoreLanes(p, row[0], 0, t.width)
	case t.width == t.Width():
		t.Store(p, 0, row[0])
	default:
		for j := 0; j < len(row); j += 2 {
			t.StoreTwo(p, 4*j*t.Width(), row[j], row[j+1])
		}
	}
}
