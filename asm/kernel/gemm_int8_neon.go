package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/neon"
)

// int8NEONColumns is the number of columns of a panel of B.
const int8NEONColumns = 16

// NEONDot is how bytes are multiplied on arm64.
type NEONDot int

const (
	// NEONWords: SMULL makes products words, of which two make no overflow, and SADALP adds pairs
	// of words to sums; so each column has two sums, and a tile half the columns.
	NEONWords NEONDot = iota
	// NEONQuads: SDOT adds four products to each sum.
	NEONQuads
	// NEONOctets: SMMLA adds eight products to the sums of two rows and two columns.
	NEONOctets
)

// Int8PanelNEON emits the micro-kernel of int8 products for NEON. B has four elements of each
// column side by side, or eight for SMMLA. A tile's integer sums stay in registers for a block
// of k; then they are scaled and added to C.
func Int8PanelNEON(dot NEONDot) func(vec.Machine) {
	return Only(func(x *neon.Machine) {
		g := newInt8NEON(x, dot)
		mr := 4
		if dot != NEONWords {
			mr = 6
		}
		g.begin()
		g.b, g.weight, g.bias = g.LoadInt(x.Param("b").Base()), g.LoadInt(x.Param("weight").Base()), g.LoadInt(x.Param("bias").Base())
		g.strips(func() {
			g.rows(mr, g.tile)
			for _, p := range []arm64.GP{g.b, g.weight, g.bias} {
				g.ADD(arm64.Imm(4*g.columns), p, p)
			}
		})
	})
}

// newInt8NEON has tiles of all columns where there are registers for their sums.
func newInt8NEON(x *neon.Machine, dot NEONDot) *int8NEON {
	g := &int8NEON{Machine: x, dot: dot, columns: int8NEONColumns}
	if dot == NEONWords {
		g.columns = 8
	}
	return g
}

type int8NEON struct {
	*neon.Machine
	dot               NEONDot
	columns, first    int      // of the tile: how many, and which of the panel's is the first
	b, c              arm64.GP // at the tile's first column, as are
	weight, bias      arm64.GP
	lda, ldc, ldscale arm64.GP // in bytes
	add               arm64.GP
}

// begin loads what the tiles of all products of integers need.
func (g *int8NEON) begin() {
	g.c, g.lda = g.LoadInt(g.Param("c").Base()), g.LoadInt(g.Param("lda"))
	g.ldc, g.ldscale = g.LoadInt(g.Param("ldc")), g.LoadInt(g.Param("ldscale"))
	g.LSL(arm64.Imm(2), g.ldc, g.ldc)
	g.LSL(arm64.Imm(2), g.ldscale, g.ldscale)
	g.add = g.LoadInt(g.Param("add"))
}

// strips emits strip for the columns of a panel, as many at a time as a tile has.
func (g *int8NEON) strips(strip func()) {
	for ; g.first < int8NEONColumns; g.first += g.columns {
		strip()
		g.ADD(arm64.Imm(4*g.columns), g.c, g.c)
	}
}

// rows emits the loop over the strip's tiles, and the tiles. tile emits one for as many rows of
// A, and moves c down by as many.
func (g *int8NEON) rows(mr int, tile func(rows []arm64.GP, c, scale arm64.GP, label func(string) string)) {
	m, a, c, scale := g.IntParam("m"), g.LoadInt(g.Param("a").Base()), g.GP(), g.LoadInt(g.Param("scale").Base())
	g.MOVD(g.c, c)
	deal(g, mr, fmt.Sprintf("_%d", g.first), func() vec.Int { return g.CopyInt(m) }, func(h int, label func(string) string) {
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
		tile(rows, c, scale, label)
		for range h {
			g.ADD(g.ldc, c, c)
		}
		g.ADD(arm64.Imm(4*h), scale, scale)
		g.Subtract(m, h)
	})
}

// tile emits a tile.
func (g *int8NEON) tile(rows []arm64.GP, c, scale arm64.GP, label func(string) string) {
	h := len(rows)
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
	switch g.dot {
	case NEONWords:
		g.products(sums, av, b)
	case NEONQuads:
		g.dots(sums, av, b)
	case NEONOctets:
		g.matrices(sums, av, b)
	}
	g.ADD(arm64.Imm(16*int8NEONColumns), b, b)
	g.SUBS(arm64.Imm(16), n, n)
	g.BCond(arm64.NE, label("loop"))
	g.addTo(c, h, sums, s)
	g.ADD(g.ldscale, s, s)
	g.CBNZ(k, label("block"))

	g.withRow("weight", g.weight, c, h, func(m, n, d arm64.Arranged) { g.VFMUL(m, n, d) }, label("end"))
	g.withRow("bias", g.bias, c, h, g.VFADD, label("end"))
	g.Label(label("end"))
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

// newSums are sums of zero: of a row and four columns with SDOT, of a row and two columns
// without, and of two rows and two columns with SMMLA.
func (g *int8NEON) newSums(h int) [][]arm64.Vec {
	n := g.columns / 2
	switch g.dot {
	case NEONQuads:
		n = g.columns / 4
	case NEONOctets:
		h = (h + 1) / 2
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

// matrices multiplies 16 elements of each row and column, two rows and two columns at a time. The
// last of an odd number of rows is its own neighbour.
func (g *int8NEON) matrices(sums [][]arm64.Vec, av []arm64.Vec, b arm64.GP) {
	pairs := make([][2]arm64.Vec, len(sums)) // eight elements of each row, and eight more
	for p := range pairs {
		x, y := av[2*p], av[min(2*p+1, len(av)-1)]
		pairs[p] = [2]arm64.Vec{g.V(), g.V()}
		g.VZIP1(y.D2(), x.D2(), pairs[p][0].D2())
		g.VZIP2(y.D2(), x.D2(), pairs[p][1].D2())
	}
	for octet := range 2 {
		for v := 0; v < g.columns/2; v += 2 {
			b0, b1 := g.V(), g.V()
			g.FLDPQ(arm64.At(b, octet*8*int8NEONColumns+16*v), b0, b1)
			for p, a := range pairs {
				g.VSMMLA(b0.B16(), a[octet].B16(), sums[p][v].S4())
				g.VSMMLA(b1.B16(), a[octet].B16(), sums[p][v+1].S4())
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
				g.words(sums[i], av[i].S(quad), av[i].S(quad+1), b0, b1, v)
			}
		}
	}
}

// words adds the products of four elements of a row and vector v of columns, and of four others,
// to the row's sums, by way of words.
func (g *int8NEON) words(sums []arm64.Vec, a0, a1 arm64.Element, b0, b1 arm64.Vec, v int) {
	x0, x1, low, high := g.V(), g.V(), g.V(), g.V()
	g.VDUP(a0, x0.S4())
	g.VDUP(a1, x1.S4())
	g.VSMULL(b0.B8(), x0.B8(), low.H8())
	g.VSMULL2(b0.B16(), x0.B16(), high.H8())
	g.VSMLAL(b1.B8(), x1.B8(), low.H8())
	g.VSMLAL2(b1.B16(), x1.B16(), high.H8())
	g.VSADALP(low.H8(), sums[2*v].S4())
	g.VSADALP(high.H8(), sums[2*v+1].S4())
}

// sum is the sums of row i and vector v of columns.
func (g *int8NEON) sum(sums [][]arm64.Vec, i, v int) arm64.Vec {
	switch g.dot {
	case NEONWords:
		s := sums[i][2*v:]
		g.VADDP(s[1].S4(), s[0].S4(), s[0].S4())
		return s[0]
	case NEONOctets:
		s, zip, row := sums[i/2][2*v:], g.VZIP1, g.V()
		if i%2 == 1 {
			zip = g.VZIP2
		}
		zip(s[1].D2(), s[0].D2(), row.D2())
		return row
	}
	return sums[i][v]
}

// addTo adds a block's sums, scaled, to C.
func (g *int8NEON) addTo(c arm64.GP, h int, sums [][]arm64.Vec, scale arm64.GP) {
	factor := make([]arm64.Vec, h)
	for i := range factor {
		factor[i] = g.V()
		g.FMOVS(arm64.At(scale, 4*i), factor[i])
	}
	g.eachVector(c, h, func(i int, y arm64.Vec, v int) arm64.Vec {
		sum := g.sum(sums, i, v)
		g.VSCVTF(sum.S4(), sum.S4())
		g.VFMUL(factor[i].S(0), sum.S4(), sum.S4())
		g.VFADD(sum.S4(), y.S4(), y.S4())
		return y
	}, true)
}
