package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/vec"
)

// The GEMM micro-kernel for any machine with the vocabulary of products. On NEON, a tile of 6x16
// fills the register file: 24 accumulators, 6 registers of A and 2 of B.
//
// A is read in place, 4 steps of k at a time from each row, and multiplied by lane. Where
// instructions take a lane, nothing is broadcast: for 96 multiply-adds NEON has 6 loads of A and 8
// pairs of loads of B. The machine needs no masks: a narrower panel is cut into strips of half as
// many columns, down to one. Each strip is a pass over the rows with loads of exactly its size.
// There is a tile for each number of rows, and the tiles of a product have nearly equal height.
// Whatever the tile, each element of C is summed in the order of k.

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
		t := g.newTile(m.Tier().Gemm.NR, "pack")
		t.begin(g.KeepPtr("a"))
		for range g.mr {
			t.beginRow()
		}
		t.loop(g.mr, func(what string) string { return what })
		t.endRows(g.c, func(i int) {
			if i+1 == g.mr {
				g.Jump("packed")
			}
		})
		g.Label("packed")
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
	t := g.newTile(width, fmt.Sprintf("x%d", width))
	deal(g, g.mr, t.suffix, m.Int, ladders{
		begin: func(vec.Int) { t.begin(a) }, beginRow: func(int) { t.beginRow() },
		sum:     t.loop,
		endRows: func(last func(i int)) { t.endRows(c, last) },
		next: func(h vec.Int) {
			t.a.Passed(h)
			left := m.Int()
			g.SubtractInt(left, h)
			m.Put(left)
		},
	})
}

// panelTile is the state of the tiles of a strip during their emission.
type panelTile struct {
	*panel
	width  int
	suffix string
	acc    [][]vec.V // the sums of each row
	a      vec.Lanes
	b      vec.Ptr // the next row of B
	k      vec.Int // the steps left

	// of the tile whose loop is emitted
	h     int
	label func(string) string
}

func (g *panel) newTile(width int, suffix string) *panelTile {
	return &panelTile{panel: g, width: width, suffix: suffix}
}

// begin prepares for a tile, and beginRow for its next row.
func (t *panelTile) begin(a vec.Kept) {
	t.a = t.Lanes(a, func() vec.Int { return t.lda }, 1, t.mr)
	t.b, t.k = t.CopyPtr(t.panel.b), t.IntParam("k")
}

func (t *panelTile) beginRow() {
	t.a.Begin()
	var row []vec.V
	for range max(1, t.width/t.Width()) {
		row = append(row, t.Zero())
	}
	t.acc = append(t.acc, row)
}

// loop emits the loop over k for h rows, four steps at a time.
func (t *panelTile) loop(h int, label func(string) string) {
	const unroll = 4
	t.h, t.label = h, label
	t.a.Take(h)
	t.CountDown(t.k, unroll, vec.LT, t.label("rest"))
	t.Label(t.label("loop"))
	t.a.Load(0, unroll)
	for lane := range unroll {
		t.step(lane)
	}
	t.a.Next(unroll)
	t.CountDown(t.k, unroll, vec.GE, t.label("loop"))
	t.Label(t.label("rest"))
	t.Raise(t.k, unroll)
	t.BranchIfZero(t.k, t.label("sum"))
	t.Label(t.label("one"))
	t.a.Load(0, 1)
	t.step(0)
	t.a.Next(1)
	t.CountDown(t.k, 1, vec.NE, t.label("one"))
	t.Label(t.label("sum"))
	for _, row := range t.acc[h:] {
		t.Undefine(row...)
	}
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
			for i := range t.h {
				t.FMALane(t.acc[i][j+jj], t.a.Lane(i, lane), v)
			}
		}
	}
}

// endRows ends the rows of a tile, without C and with it, and moves c down. last follows each row,
// with which the tile may end.
func (t *panelTile) endRows(c vec.Ptr, last func(i int)) {
	alpha := t.FloatParam("alpha")
	t.BranchUnlessZero(t.beta, "add"+t.suffix)
	t.Comment("beta = 0 must not read C")
	for i := range t.acc {
		t.endRow(i, c, alpha, nil)
		last(i)
	}
	t.Label("add" + t.suffix)
	beta := t.FloatParam("beta")
	for i := range t.acc {
		t.endRow(i, c, alpha, &beta)
		last(i)
	}
}

func (t *panelTile) endRow(i int, c vec.Ptr, alpha vec.V, beta *vec.V) {
	row := t.acc[i]
	for _, v := range row {
		t.MulTo(v, alpha)
	}
	for j := 0; beta != nil && j < len(row); {
		for _, old := range t.load(c, j) {
			t.FMATo(row[j], *beta, old)
			j++
		}
	}
	t.store(c, row)
	t.BumpBytes(c, t.ldc, 1)
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
