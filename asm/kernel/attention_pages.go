package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Kernels for a few queries read keys and values in the format in which they are stored. Each
// element is widened in a register, once for all queries of a block.

// AttnScoresFloat16, AttnScoresBFloat16 and AttnScoresInt8 multiply queries by panels of keys. Each
// element is one chain of multiply-adds, each of which waits for the one before. To hide that
// latency, a block of queries and several panels run side by side.
var (
	AttnScoresFloat16  = attnScores(inFloat16)
	AttnScoresBFloat16 = attnScores(inBFloat16)
	AttnScoresInt8     = attnScores(inInt8)
)

func attnScores(keys stored) func(vec.Machine) {
	return func(m vec.Machine) {
		g := &attnScoresGen{panelSums: panelSums{Machine: m, nr: m.Tier().Gemm.NR, stored: keys}}
		g.a, g.c = m.SlicePtr("a"), m.SlicePtr("c")
		rows := m.IntParam("rows")
		for block := m.Tier().Blocking.ValueRows; block >= 1; block /= 2 {
			m.Loop(rows, block, func() { g.rows(block) })
		}
	}
}

// attnScoresGen has what all blocks of queries share.
type attnScoresGen struct {
	panelSums
	a, c vec.Ptr // the next queries
	b, s vec.Ptr // the next panels
}

// rows emits the scores of a block of queries, and moves to the next.
func (g *attnScoresGen) rows(block int) {
	g.b, g.s = g.SlicePtr("b"), g.CopyPtr(g.c)
	if g.scaled {
		g.scale = g.SlicePtr("scale")
	}
	left := g.IntParam("panels")
	for panels := max(1, PanelsAtOnce/block); panels >= 1; panels /= 2 {
		g.Loop(left, panels, func() { g.panels(block, panels) })
	}
	for range block {
		g.BumpBy(g.a, g.IntParam("lda"))
		g.BumpBy(g.c, g.IntParam("ldc"))
	}
}

// panels emits the scores of some panels, and moves to the next.
func (g *attnScoresGen) panels(block, panels int) {
	vectors := g.nr / g.Width()
	acc := make([][]vec.V, block)
	for r := range acc {
		acc[r] = make([]vec.V, panels*vectors)
		for i := range acc[r] {
			acc[r][i] = g.Zero()
		}
	}
	at := make([]vec.Ptr, panels)
	for p := range at {
		if at[p] = g.b; p < panels-1 {
			at[p] = g.CopyPtr(g.b)
			g.BumpBytes(g.b, g.IntParam("panel"), g.size)
		}
	}
	x := make([]vec.Ptr, block)
	for r, from := 0, g.a; r < block; r++ {
		if x[r] = g.CopyPtr(from); r > 0 {
			g.BumpBy(x[r], g.IntParam("lda"))
		}
		from = x[r]
	}
	g.add(acc, x, at, g.IntParam("k"))
	if g.scaled {
		g.Bump(g.scale, 4*panels*g.nr)
	}
	alpha, to := g.FloatParam("alpha"), g.CopyPtr(g.s)
	for _, row := range acc {
		for i, v := range row {
			g.Store(to, 4*i*g.Width(), g.Mul(v, alpha))
		}
		g.BumpBy(to, g.IntParam("ldc"))
	}
	g.Bump(g.s, 4*panels*g.nr)
}

// AttnValues and the kernels after it add values, times their weights, to the outputs of queries.
// They take a block of queries and as many columns as possible at a time, whose sums stay in
// registers during the loop over the keys. If part of each row were left for later, the processor
// would not recognise a stream to fetch ahead.
var (
	AttnValues         = attnValues(inFloat32)
	AttnValuesFloat16  = attnValues(inFloat16)
	AttnValuesBFloat16 = attnValues(inBFloat16)
	AttnValuesInt8     = attnValues(inInt8)
)

// attnValues returns the kernel for values of a type. Only float32 has tails of rows: AVX2 and NEON
// have no masked loads of smaller elements.
func attnValues(values stored) func(vec.Machine) {
	return func(m vec.Machine) {
		g := &attnValuesGen{Machine: m, values: values}
		g.o, g.v = m.SlicePtr("o"), m.SlicePtr("v")
		left := m.IntParam("cols")
		most, bytes := 4*m.Tier().Blocking.ValueRows, 4*m.Width() // vectors of sums
		tail := vec.Tail{}
		if values.size == 4 {
			tail = m.Tail(left)
		}
		for _, vectors := range []int{8, 4, 1} {
			m.Loop(left, vectors*m.Width(), func() {
				g.columns(vectors, max(1, min(m.Tier().Blocking.ValueRows, most/vectors)), columnsOf{
					values: func(p vec.Ptr, i int) vec.V { return values.load(m, p, i*m.Width()*values.size) },
					load:   func(p vec.Ptr, i int) vec.V { return m.Load(p, i*bytes) },
					store:  func(p vec.Ptr, i int, x vec.V) { m.Store(p, i*bytes, x) },
				})
				m.Bump(g.o, vectors*bytes)
				m.Bump(g.v, vectors*m.Width()*values.size)
			})
		}
		if values.size == 4 {
			load := func(p vec.Ptr, _ int) vec.V { return m.LoadTail(p, tail, 0) }
			m.If(tail.Count, func() {
				g.columns(1, m.Tier().Blocking.ValueRows, columnsOf{load, load, func(p vec.Ptr, _ int, x vec.V) { m.StoreTail(p, tail, x) }})
			})
		}
	}
}

// columnsOf loads and stores vector i of some columns.
type columnsOf struct {
	values, load func(p vec.Ptr, i int) vec.V
	store        func(p vec.Ptr, i int, x vec.V)
}

// attnValuesGen has what all columns share.
type attnValuesGen struct {
	vec.Machine
	values stored
	o, v   vec.Ptr // the current columns
}

// columns emits the code for some vectors of columns: for block queries at a time, then for half as
// many.
func (g *attnValuesGen) columns(vectors, block int, of columnsOf) {
	rows, weights, to := g.IntParam("rows"), g.SlicePtr("p"), g.CopyPtr(g.o)
	for ; block >= 1; block /= 2 {
		g.Loop(rows, block, func() {
			from, acc, w := g.CopyPtr(to), make([][]vec.V, block), make([]vec.Ptr, block)
			for r := range acc {
				w[r] = g.CopyPtr(weights)
				g.BumpBy(weights, g.IntParam("ldp"))
				for i := range vectors {
					acc[r] = append(acc[r], of.load(from, i))
				}
				g.BumpBy(from, g.IntParam("ldo"))
			}
			g.keys(vectors, acc, w, of)
			for _, row := range acc {
				for i, x := range row {
					of.store(to, i, x)
				}
				g.BumpBy(to, g.IntParam("ldo"))
			}
		})
	}
}

// keys adds the values of all keys to the sums of a block of queries, whose weights are at w.
func (g *attnValuesGen) keys(vectors int, acc [][]vec.V, w []vec.Ptr, of columnsOf) {
	row, left, scale := g.CopyPtr(g.v), g.IntParam("n"), vec.Ptr{}
	if g.values.scaled {
		scale = g.SlicePtr("scale")
	}
	g.Loop(left, 1, func() {
		if g.values.size < 4 && g.Prefetches() {
			fetchLines(g.Machine, row, vectors*g.Width()*g.values.size, g.IntParam("ahead"))
		}
		e := make([]vec.V, len(acc))
		for r := range e {
			e[r] = g.LoadScalar(w[r], 0)
			g.Bump(w[r], 4)
		}
		s := vec.V{}
		if g.values.scaled {
			s = g.LoadScalar(scale, 0)
			g.Bump(scale, 4)
		}
		for i := range vectors {
			x := of.values(row, i)
			if g.values.scaled {
				g.MulTo(x, s)
			}
			for r := range e {
				g.FMATo(acc[r][i], e[r], x)
			}
		}
		g.BumpBytes(row, g.IntParam("ldv"), g.values.size)
	})
}
