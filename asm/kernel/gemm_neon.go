package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/neon"
)

// gemmNEON emits the GEMM micro-kernel for NEON, 6x16: 24 accumulators, 6
// registers of A and 2 of B are the whole register file.
//
// A is read where it lies, 4 steps of k at a time from each row, and multiplied
// by element, so that nothing is broadcast: for 96 multiply-adds there are 6
// loads of A and 8 pairs of loads of B. There are no masks, so a narrower panel
// is cut into strips of 8, 4, 2 and 1 columns, each a pass over the rows with
// loads of just that size. As on x86 there is a tile for each number of rows,
// and rows are dealt to tiles of nearly equal height. Whatever the tile, each
// element of C is summed in the order of k.
func gemmNEON(x *neon.Machine) {
	g, tile := newGemmNEON(x), x.Tier().Gemm
	n := g.LoadInt(x.Param("n"))
	g.mr /= 2
	for width := 2 * tile.NR; width > 0; width /= 2 {
		next := x.NewLabel("narrower")
		g.CMP(arm64.Imm(width), n)
		g.BCond(arm64.LT, next)
		g.rows(width)
		g.mr = tile.MR
		if width > 1 {
			g.SUB(arm64.Imm(width), n, n)
			g.ADD(arm64.Imm(4*width), g.b, g.b)
			g.ADD(arm64.Imm(4*width), g.c, g.c)
		}
		g.Label(next)
	}
}

// gemmPackNEON emits GemmPack.
func gemmPackNEON(x *neon.Machine) {
	g, tile := newGemmNEON(x), x.Tier().Gemm
	g.packed = g.LoadInt(x.Param("dst").Base())
	a := g.LoadInt(x.Param("a").Base())
	g.tile(a, g.c, tile.MR, tile.NR, func(what string) string { return what })
}

func newGemmNEON(x *neon.Machine) *gemmNEONGen {
	g := &gemmNEONGen{Machine: x, mr: x.Tier().Gemm.MR}
	g.b, g.c = g.LoadInt(x.Param("b").Base()), g.LoadInt(x.Param("c").Base())
	g.lda, g.ldb, g.ldc = g.stride("lda"), g.stride("ldb"), g.stride("ldc")
	beta := g.V()
	g.Function.Load(x.Param("beta"), beta)
	g.beta = g.GP()
	g.FMOVSToGP(beta, g.beta)
	g.LSL(arm64.Imm(33), g.beta, g.beta) // drops the sign: -0 is 0 too
	return g
}

// gemmNEONGen carries what all tiles share.
type gemmNEONGen struct {
	*neon.Machine
	mr            int
	b, c          arm64.GP // the strip's first column
	lda, ldb, ldc arm64.GP // in bytes
	beta          arm64.GP // 0 if beta is
	packed        arm64.GP // where to store the rows of B, or the zero value
}

// stride loads a leading dimension, in bytes.
func (g *gemmNEONGen) stride(param string) arm64.GP {
	r := g.LoadInt(g.Param(param))
	g.LSL(arm64.Imm(2), r, r)
	return r
}

// rows emits the tiles of a strip, and the loop over them.
func (g *gemmNEONGen) rows(width int) {
	m, a, c := g.IntParam("m"), g.LoadInt(g.Param("a").Base()), g.GP()
	g.MOVD(g.c, c)
	deal(g, g.mr, fmt.Sprintf("x%d", width), func() vec.Int { return g.CopyInt(m) }, func(h int, label func(string) string) {
		g.tile(a, c, h, width, label)
		g.Subtract(m, h)
	})
}

// neonTile is a tile while it is emitted.
type neonTile struct {
	*gemmNEONGen
	width int
	label func(string) string
	acc   [][]arm64.Vec
	rows  []arm64.GP // of A
	b     arm64.GP   // the next row of B
}

// tile emits C[0:h, strip] = alpha * A[0:h, 0:k] * B + beta * C, and moves a
// and c down by h rows.
func (g *gemmNEONGen) tile(a, c arm64.GP, h, width int, label func(string) string) {
	t := &neonTile{gemmNEONGen: g, width: width, label: label, acc: make([][]arm64.Vec, h), rows: make([]arm64.GP, h)}
	for i := range t.acc {
		t.rows[i] = g.GP()
		g.MOVD(a, t.rows[i])
		g.ADD(g.lda, a, a)
		t.acc[i] = make([]arm64.Vec, max(1, width/4))
		for j := range t.acc[i] {
			t.acc[i][j] = g.V()
			g.VMOVI(0, t.acc[i][j].B16())
		}
	}
	t.sum()
	t.scaleAndStore(c)
}

// sum runs over k, four steps at a time.
func (t *neonTile) sum() {
	const unroll = 4
	k := t.LoadInt(t.Param("k"))
	t.b = t.GP()
	t.MOVD(t.gemmNEONGen.b, t.b)
	t.SUBS(arm64.Imm(unroll), k, k)
	t.BCond(arm64.LT, t.label("rest"))
	t.Function.Label(t.label("loop"))
	av := make([]arm64.Vec, len(t.rows))
	for i := range av {
		av[i] = t.V()
		t.FMOVQ(arm64.Post(t.rows[i], 4*unroll), av[i])
	}
	for lane := range unroll {
		t.step(av, lane)
	}
	t.SUBS(arm64.Imm(unroll), k, k)
	t.BCond(arm64.GE, t.label("loop"))
	t.Function.Label(t.label("rest"))
	t.ADD(arm64.Imm(unroll), k, k)
	t.CBZ(k, t.label("sum"))
	t.Function.Label(t.label("one"))
	for i := range av {
		av[i] = t.V()
		t.FMOVS(arm64.Post(t.rows[i], 4), av[i])
	}
	t.step(av, 0)
	t.SUBS(arm64.Imm(1), k, k)
	t.BCond(arm64.NE, t.label("one"))
	t.Function.Label(t.label("sum"))
}

// step adds the outer product of a column of A, lane of each av, and a row of B.
func (t *neonTile) step(av []arm64.Vec, lane int) {
	vectors := len(t.acc[0])
	for j := 0; j < vectors; j += 2 {
		bv := t.loadRow(t.b, j, t.width)
		if t.packed != (arm64.GP{}) {
			t.storeRow(bv, t.packed, 8)
			t.ADD(arm64.Imm(32), t.packed, t.packed)
		}
		if j+2 >= vectors {
			t.ADD(t.ldb, t.b, t.b)
		}
		for jj, v := range bv {
			for i := range t.acc {
				t.VFMLA(av[i].S(lane), v.S4(), t.acc[i][j+jj].S4())
			}
		}
	}
}

// scaleAndStore ends the tile, and moves c down.
func (t *neonTile) scaleAndStore(c arm64.GP) {
	acc := make([][]vec.V, len(t.acc))
	for i := range acc {
		for _, r := range t.acc[i] {
			acc[i] = append(acc[i], t.Value(r))
		}
	}
	old := t.GP()
	tileEnd{acc: acc,
		unlessAlpha1: func(body func()) { body() },
		unlessBeta0: func(body func()) {
			t.CBZ(t.beta, t.label("store"))
			t.MOVD(c, old)
			body()
			t.Function.Label(t.label("store"))
		},
		load: func(i, j int) (vs []vec.V) {
			for _, r := range t.loadRow(old, j, t.width) {
				vs = append(vs, t.Value(r))
			}
			if j+len(vs) == len(t.acc[i]) {
				t.ADD(t.ldc, old, old)
			}
			return vs
		},
		store: func(i int) {
			t.storeRow(t.acc[i], c, t.width)
			t.ADD(t.ldc, c, c)
		},
	}.emit(t)
}

// loadRow loads vectors j and, if the strip has it, j+1 of a row of the strip.
func (g *gemmNEONGen) loadRow(p arm64.GP, j, width int) []arm64.Vec {
	v, m := g.V(), arm64.At(p, 16*j)
	switch width {
	case 4:
		g.FMOVQ(m, v)
	case 2:
		g.FMOVD(m, v)
	case 1:
		g.FMOVS(m, v)
	default:
		w := g.V()
		g.FLDPQ(m, v, w)
		return []arm64.Vec{v, w}
	}
	return []arm64.Vec{v}
}

// storeRow stores a row of the strip.
func (g *gemmNEONGen) storeRow(v []arm64.Vec, p arm64.GP, width int) {
	switch width {
	case 4:
		g.FMOVQStore(v[0], arm64.At(p, 0))
	case 2:
		g.FMOVDStore(v[0], arm64.At(p, 0))
	case 1:
		g.FMOVSStore(v[0], arm64.At(p, 0))
	default:
		for j := 0; j < len(v); j += 2 {
			g.FSTPQ(v[j], v[j+1], arm64.At(p, 16*j))
		}
	}
}
