package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec"
)

// int8NEONColumns is the number of columns of a panel of B.
const int8NEONColumns = 16

// Int8PanelNEON emits the micro-kernel of int8 products for NEON, with or without the
// instruction that adds products of bytes. B has four elements of each column side by
// side. A tile's integer sums stay in registers for a block of k; then they are scaled
// and added to C.
//
// Without SDOT, bytes are multiplied to words, of which two make no overflow, and pairs
// of words added to the sums; so each column has two sums, and a tile half the columns.
func Int8PanelNEON(dotprod bool) Body {
	return Body{NEON: func(x *vec.NEON) {
		g := &int8NEON{NEON: x, dotprod: dotprod, columns: 8}
		mr := 4
		if dotprod {
			mr, g.columns = 6, int8NEONColumns
		}
		g.b, g.c = g.LoadInt(x.Param("b").Base()), g.LoadInt(x.Param("c").Base())
		g.weight, g.bias = g.LoadInt(x.Param("weight").Base()), g.LoadInt(x.Param("bias").Base())
		g.lda, g.ldc, g.ldscale = g.LoadInt(x.Param("lda")), g.LoadInt(x.Param("ldc")), g.LoadInt(x.Param("ldscale"))
		g.LSL(arm64.Imm(2), g.ldc, g.ldc)
		g.LSL(arm64.Imm(2), g.ldscale, g.ldscale)
		g.add = g.LoadInt(x.Param("add"))
		for j := 0; j < int8NEONColumns; j += g.columns {
			g.rows(mr, j)
			if j+g.columns < int8NEONColumns {
				g.ADD(arm64.Imm(4*g.columns), g.b, g.b)
				g.ADD(arm64.Imm(4*g.columns), g.c, g.c)
				g.ADD(arm64.Imm(4*g.columns), g.weight, g.weight)
				g.ADD(arm64.Imm(4*g.columns), g.bias, g.bias)
			}
		}
	}}
}

type int8NEON struct {
	*vec.NEON
	dotprod           bool
	columns           int      // of the tile
	b, c              arm64.GP // at the tile's first column, as are
	weight, bias      arm64.GP
	lda, ldc, ldscale arm64.GP // in bytes
	add               arm64.GP
}

// rows emits the loop over tiles of columns from column j, and the tiles.
func (g *int8NEON) rows(mr, j int) {
	label := func(what string, h int) string { return fmt.Sprintf("%s%d_%d", what, h, j) }
	again, done := label("tiles", mr), label("done", mr)
	m, a, c, scale := g.LoadInt(g.Param("m")), g.LoadInt(g.Param("a").Base()), g.GP(), g.LoadInt(g.Param("scale").Base())
	g.MOVD(g.c, c)
	g.Label(again)
	g.CMP(arm64.Imm(2*mr), m)
	g.BCond(arm64.GE, label("tile", mr))
	left := g.GP()
	g.MOVD(m, left)
	g.CMP(arm64.Imm(mr), m)
	g.BCond(arm64.LE, label("pick", mr))
	g.Comment("between one tile and two: halve, rounding up")
	g.ADD(arm64.Imm(1), left, left)
	g.LSR(arm64.Imm(1), left, left)
	g.Label(label("pick", mr))
	for h := 1; h < mr; h++ {
		g.CMP(arm64.Imm(h), left)
		if h == 1 {
			g.BCond(arm64.LT, done)
		}
		g.BCond(arm64.EQ, label("tile", h))
	}
	for h := mr; h >= 1; h-- {
		g.Label(label("tile", h))
		g.tile(a, c, scale, h, func(what string) string { return label(what, h) })
		g.ADD(arm64.Imm(4*h), scale, scale)
		g.SUB(arm64.Imm(h), m, m)
		g.B(again)
	}
	g.Label(done)
}

// tile emits a tile of h rows, and moves a and c down by h rows.
func (g *int8NEON) tile(a, c, scale arm64.GP, h int, label func(string) string) {
	rows := make([]arm64.GP, h)
	for i := range rows {
		rows[i] = g.GP()
		g.MOVD(a, rows[i])
		g.ADD(g.lda, a, a)
	}
	g.CBNZ(g.add, label("started"))
	zero := g.V()
	g.VMOVI(0, zero.B16())
	g.eachVector(c, h, func(int, arm64.Vec, int) arm64.Vec { return zero }, false)
	g.Label(label("started"))

	b, k, n, s := g.GP(), g.LoadInt(g.Param("k")), g.GP(), g.GP()
	g.MOVD(g.b, b)
	g.MOVD(scale, s)
	g.Label(label("block"))
	g.Comment("a block has n of the k elements")
	block := g.LoadInt(g.Param("block"))
	g.MOVD(block, n)
	g.CMP(block, k)
	g.CSEL(arm64.LT, k, n, n)
	g.SUB(n, k, k)
	sums := g.newSums(h)
	g.Label(label("loop"))
	av := make([]arm64.Vec, h)
	for i := range av {
		av[i] = g.V()
		g.FMOVQ(arm64.Post(rows[i], 16), av[i])
	}
	if g.dotprod {
		g.dots(sums, av, b)
	} else {
		g.products(sums, av, b)
	}
	g.ADD(arm64.Imm(16*int8NEONColumns), b, b)
	g.SUBS(arm64.Imm(16), n, n)
	g.BCond(arm64.NE, label("loop"))
	g.addTo(c, sums, s)
	g.ADD(g.ldscale, s, s)
	g.CBNZ(k, label("block"))

	g.withRow("weight", g.weight, c, h, func(m, n, d arm64.Arranged) { g.VFMUL(m, n, d) }, label("end"))
	g.withRow("bias", g.bias, c, h, g.VFADD, label("end"))
	g.Label(label("end"))
	for range h {
		g.ADD(g.ldc, c, c)
	}
}

// withRow replaces each vector y of the tile's rows in C by f of it and of the vector of a
// row in the same columns, or goes to end if the parameter is empty.
func (g *int8NEON) withRow(param string, from, c arm64.GP, h int, f func(m, n, d arm64.Arranged), end string) {
	g.CBZ(g.LoadInt(g.Param(param).Len()), end)
	row := make([]arm64.Vec, g.columns/4)
	for v := range row {
		row[v] = g.V()
		g.FMOVQ(arm64.At(from, 16*v), row[v])
	}
	g.eachVector(c, h, func(_ int, y arm64.Vec, v int) arm64.Vec {
		f(row[v].S4(), y.S4(), y.S4())
		return y
	}, true)
}

// newSums are sums of zero: of four columns each with dotprod, and of two otherwise.
func (g *int8NEON) newSums(h int) [][]arm64.Vec {
	n := g.columns / 4
	if !g.dotprod {
		n = g.columns / 2
	}
	sums := make([][]arm64.Vec, h)
	for i := range sums {
		for range n {
			v := g.V()
			g.VMOVI(0, v.B16())
			sums[i] = append(sums[i], v)
		}
	}
	return sums
}

// eachVector replaces each vector y of the tile's rows in C by what f makes of it. If it
// does not read, y is none.
func (g *int8NEON) eachVector(c arm64.GP, h int, f func(i int, y arm64.Vec, v int) arm64.Vec, read bool) {
	row := g.GP()
	g.MOVD(c, row)
	for i := range h {
		for v := range g.columns / 4 {
			var y arm64.Vec
			if read {
				y = g.V()
				g.FMOVQ(arm64.At(row, 16*v), y)
			}
			g.FMOVQStore(f(i, y, v), arm64.At(row, 16*v))
		}
		g.ADD(g.ldc, row, row)
	}
}

// dots multiplies 16 elements of each row and column.
func (g *int8NEON) dots(sums [][]arm64.Vec, av []arm64.Vec, b arm64.GP) {
	for quad := range 4 {
		for v := 0; v < g.columns/4; v += 2 {
			b0, b1 := g.V(), g.V()
			g.FLDPQ(arm64.At(b, quad*4*int8NEONColumns+16*v), b0, b1)
			for i := range av {
				g.VSDOT(av[i].S(quad), b0.B16(), sums[i][v].S4())
				g.VSDOT(av[i].S(quad), b1.B16(), sums[i][v+1].S4())
			}
		}
	}
}

// products is dots without that instruction, two quads at a time.
func (g *int8NEON) products(sums [][]arm64.Vec, av []arm64.Vec, b arm64.GP) {
	for quad := 0; quad < 4; quad += 2 {
		for v := range g.columns / 4 {
			b0, b1 := g.V(), g.V()
			g.FMOVQ(arm64.At(b, quad*4*int8NEONColumns+16*v), b0)
			g.FMOVQ(arm64.At(b, (quad+1)*4*int8NEONColumns+16*v), b1)
			for i := range av {
				a0, a1, low, high := g.V(), g.V(), g.V(), g.V()
				g.VDUP(av[i].S(quad), a0.S4())
				g.VDUP(av[i].S(quad+1), a1.S4())
				g.VSMULL(b0.B8(), a0.B8(), low.H8())
				g.VSMULL2(b0.B16(), a0.B16(), high.H8())
				g.VSMLAL(b1.B8(), a1.B8(), low.H8())
				g.VSMLAL2(b1.B16(), a1.B16(), high.H8())
				g.VSADALP(low.H8(), sums[i][2*v].S4())
				g.VSADALP(high.H8(), sums[i][2*v+1].S4())
			}
		}
	}
}

// addTo adds a block's sums, scaled, to C.
func (g *int8NEON) addTo(c arm64.GP, sums [][]arm64.Vec, scale arm64.GP) {
	factor := make([]arm64.Vec, len(sums))
	for i := range factor {
		factor[i] = g.V()
		g.FMOVS(arm64.At(scale, 4*i), factor[i])
	}
	g.eachVector(c, len(sums), func(i int, y arm64.Vec, v int) arm64.Vec {
		var sum arm64.Vec
		if g.dotprod {
			sum = sums[i][v]
		} else {
			sum = sums[i][2*v]
			g.VADDP(sums[i][2*v+1].S4(), sum.S4(), sum.S4())
		}
		g.VSCVTF(sum.S4(), sum.S4())
		g.VFMUL(factor[i].S(0), sum.S4(), sum.S4())
		g.VFADD(sum.S4(), y.S4(), y.S4())
		return y
	}, true)
}
