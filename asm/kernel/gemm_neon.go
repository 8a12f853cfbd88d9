package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec"
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
func gemmNEON(x *vec.NEON, tile GemmTile) {
	g := newGemmNEON(x, tile)
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
func gemmPackNEON(x *vec.NEON, tile GemmTile) {
	g := newGemmNEON(x, tile)
	g.packed = g.LoadInt(x.Param("dst").Base())
	a := g.LoadInt(x.Param("a").Base())
	g.tile(a, g.c, tile.MR, tile.NR, func(what string) string { return what })
}

func newGemmNEON(x *vec.NEON, tile GemmTile) *gemmNEONGen {
	g := &gemmNEONGen{NEON: x, mr: tile.MR}
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
	*vec.NEON
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

// rows emits the loop over row tiles of a strip, and the tiles.
func (g *gemmNEONGen) rows(width int) {
	label := func(what string, h int) string { return fmt.Sprintf("%s%dx%d", what, h, width) }
	again, pick, done := label("tiles", g.mr), label("pick", g.mr), label("done", g.mr)
	m, a, c := g.LoadInt(g.Param("m")), g.LoadInt(g.Param("a").Base()), g.GP()
	g.MOVD(g.c, c)
	g.Label(again)
	g.CMP(arm64.Imm(2*g.mr), m)
	g.BCond(arm64.GE, label("tile", g.mr))
	left := g.GP()
	g.MOVD(m, left)
	g.CMP(arm64.Imm(g.mr), m)
	g.BCond(arm64.LE, pick)
	g.Comment("between one tile and two: halve, rounding up")
	g.ADD(arm64.Imm(1), left, left)
	g.LSR(arm64.Imm(1), left, left)
	g.Label(pick)
	for h := 1; h < g.mr; h++ {
		g.CMP(arm64.Imm(h), left)
		if h == 1 {
			g.BCond(arm64.LT, done)
		}
		g.BCond(arm64.EQ, label("tile", h))
	}
	for h := g.mr; h >= 1; h-- {
		g.Label(label("tile", h))
		g.tile(a, c, h, width, func(what string) string { return label(what, h) })
		g.SUB(arm64.Imm(h), m, m)
		g.B(again)
	}
	g.Label(done)
}

// tile emits C[0:h, strip] = alpha * A[0:h, 0:k] * B + beta * C, and moves a
// and c down by h rows.
func (g *gemmNEONGen) tile(a, c arm64.GP, h, width int, label func(string) string) {
	vectors := max(1, width/4)
	acc := make([][]arm64.Vec, h)
	rows := make([]arm64.GP, h)
	for i := range acc {
		rows[i] = g.GP()
		g.MOVD(a, rows[i])
		g.ADD(g.lda, a, a)
		acc[i] = make([]arm64.Vec, vectors)
		for j := range acc[i] {
			acc[i][j] = g.V()
			g.VMOVI(0, acc[i][j].B16())
		}
	}
	k, b := g.LoadInt(g.Param("k")), g.GP()
	g.MOVD(g.b, b)
	// step adds the outer product of a column of A, lane of each av, and a row of B.
	step := func(av []arm64.Vec, lane int) {
		for j := 0; j < vectors; j += 2 {
			bv := g.loadRow(b, j, width)
			if g.packed != (arm64.GP{}) {
				g.storeRow(bv, g.packed, 8)
				g.ADD(arm64.Imm(32), g.packed, g.packed)
			}
			if j+2 >= vectors {
				g.ADD(g.ldb, b, b)
			}
			for jj, v := range bv {
				for i := range acc {
					g.VFMLA(av[i].S(lane), v.S4(), acc[i][j+jj].S4())
				}
			}
		}
	}
	const unroll = 4
	g.SUBS(arm64.Imm(unroll), k, k)
	g.BCond(arm64.LT, label("rest"))
	g.Label(label("loop"))
	av := make([]arm64.Vec, h)
	for i := range av {
		av[i] = g.V()
		g.FMOVQ(arm64.Post(rows[i], 4*unroll), av[i])
	}
	for lane := range unroll {
		step(av, lane)
	}
	g.SUBS(arm64.Imm(unroll), k, k)
	g.BCond(arm64.GE, label("loop"))
	g.Label(label("rest"))
	g.ADD(arm64.Imm(unroll), k, k)
	g.CBZ(k, label("sum"))
	g.Label(label("one"))
	for i := range av {
		av[i] = g.V()
		g.FMOVS(arm64.Post(rows[i], 4), av[i])
	}
	step(av, 0)
	g.SUBS(arm64.Imm(1), k, k)
	g.BCond(arm64.NE, label("one"))

	g.Label(label("sum"))
	alpha, beta := g.V(), g.V()
	g.Function.Load(g.Param("alpha"), alpha)
	for i := range acc {
		for j := range acc[i] {
			g.VFMUL(alpha.S(0), acc[i][j].S4(), acc[i][j].S4())
		}
	}
	g.Comment("beta = 0 must not read C")
	g.CBZ(g.beta, label("store"))
	g.Function.Load(g.Param("beta"), beta)
	old := g.GP()
	g.MOVD(c, old)
	for i := range acc {
		for j := 0; j < vectors; j += 2 {
			for jj, v := range g.loadRow(old, j, width) {
				g.VFMLA(beta.S(0), v.S4(), acc[i][j+jj].S4())
			}
		}
		g.ADD(g.ldc, old, old)
	}
	g.Label(label("store"))
	for i := range acc {
		g.storeRow(acc[i], c, width)
		g.ADD(g.ldc, c, c)
	}
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
