package kernel

import (
	"slices"

	"github.com/avoformer/avoformer/asm/vec"
)

// PanelsAtOnce is the number of panels that GemvPanels multiplies side by side, a power of two.
const PanelsAtOnce = 4

// GemvPanels multiplies a vector by packed panels of NR columns. Each element is one chain of
// multiply-adds, each of which waits for the one before. To hide that latency, several panels run
// side by side. Each is a run of memory, which is fetched ahead if the caller asks for it.
var GemvPanels = gemvPanels(inFloat32)

// GemvPanelsFloat16 and GemvPanelsBFloat16 widen the elements of the panels as they load them.
var (
	GemvPanelsFloat16  = gemvPanels(inFloat16)
	GemvPanelsBFloat16 = gemvPanels(inBFloat16)
)

// gemvPanels is GemvPanels for panels in a format.
func gemvPanels(b stored) func(vec.Machine) {
	return func(m vec.Machine) {
		g := &gemvPanelsGen{panelSums: panelSums{Machine: m, nr: m.Tier().Gemm.NR, stored: b}}
		g.c, g.a, g.b = m.SlicePtr("c"), m.SlicePtr("a"), m.SlicePtr("b")
		g.alpha = m.FloatParam("alpha")
		n := m.IntParam("panels")
		for panels := PanelsAtOnce; panels >= 1; panels /= 2 {
			m.Loop(n, panels, func() { g.panels(panels) })
		}
	}
}

// gemvPanelsGen has what all groups of panels share.
type gemvPanelsGen struct {
	panelSums
	c, a, b vec.Ptr // the next panels
	alpha   vec.V
}

// panels emits the products with some panels side by side and moves to the next ones.
func (g *gemvPanelsGen) panels(panels int) {
	vectors := g.nr / g.Width()
	var acc []vec.V
	at := make([]vec.Ptr, panels)
	for p := range at {
		at[p] = g.CopyPtr(g.b)
		g.BumpBytes(g.b, g.IntParam("panel"), g.size)
		for range vectors {
			acc = append(acc, g.Zero())
		}
	}
	g.add([][]vec.V{acc}, []vec.Ptr{g.CopyPtr(g.a)}, at, g.SliceLen("a"))
	for _, v := range acc {
		g.MulTo(v, g.alpha)
	}
	g.If(g.Magnitude("beta"), func() {
		beta, c := g.FloatParam("beta"), g.CopyPtr(g.c)
		for panel := range slices.Chunk(acc, vectors) {
			for i, v := range panel {
				g.FMATo(v, beta, g.Load(c, 4*i*g.Width()))
			}
			g.BumpBy(c, g.IntParam("ldc"))
		}
	})
	for panel := range slices.Chunk(acc, vectors) {
		for i, v := range panel {
			g.Store(g.c, 4*i*g.Width(), v)
		}
		g.BumpBy(g.c, g.IntParam("ldc"))
	}
}

// stored is the format of elements that are widened as they are loaded.
type stored struct {
	size   int // bytes per element
	load   func(m vec.Machine, p vec.Ptr, off int) vec.V
	scaled bool // each column of a panel, or row of values, has a scale, which multiplies its elements first
}

var (
	inFloat32  = stored{size: 4, load: vec.Machine.Load}
	inFloat16  = stored{size: 2, load: vec.Machine.LoadFloat16}
	inBFloat16 = stored{size: 2, load: vec.Machine.LoadBFloat16}
	inInt8     = stored{size: 1, load: vec.Machine.LoadInt8, scaled: true}
)

// panelSums adds up products of vectors and panels of nr columns.
type panelSums struct {
	vec.Machine
	stored
	nr    int
	scale vec.Ptr // of the panels, if they are scaled
}

// add emits the loop over the n elements of the vectors at x and the n rows of the panels at the
// pointers in at. acc has the sums of each vector, panel after panel. It moves x and at to the end.
func (g *panelSums) add(acc [][]vec.V, x, at []vec.Ptr, n vec.Int) {
	vectors := g.nr / g.Width()
	for _, steps := range []int{4, 1} {
		g.Loop(n, steps, func() {
			if steps > 1 && g.Prefetches() {
				ahead := g.IntParam("ahead")
				g.If(ahead, func() {
					for _, p := range at {
						fetchLines(g.Machine, p, g.size*steps*g.nr, ahead)
					}
				})
			}
			for u := range steps {
				e := make([]vec.V, len(x))
				for r := range e {
					e[r] = g.LoadScalar(x[r], 4*u)
				}
				for i := range len(at) * vectors {
					v := g.load(g.Machine, at[i/vectors], g.size*(u*g.nr+i%vectors*g.Width()))
					if g.scaled {
						g.MulTo(v, g.Load(g.scale, 4*i*g.Width())) // there are too few registers to hold them
					}
					for r := range e {
						g.FMATo(acc[r][i], e[r], v)
					}
				}
			}
			for _, p := range x {
				g.Bump(p, 4*steps)
			}
			for _, p := range at {
				g.Bump(p, g.size*steps*g.nr)
			}
		})
	}
}

// fetchLines fetches the cache lines of n bytes that begin ahead bytes after p.
func fetchLines(m vec.Machine, p vec.Ptr, n int, ahead vec.Int) {
	for off := 0; off < n; off += cacheLine {
		m.PrefetchFar(p, off, ahead, 1)
	}
}

// GemvRows adds a combination of the rows of B to C. If C fits into four vectors and a tail, it
// takes all rows in one pass. Otherwise it takes six rows at a time, to read and write C once for
// all six. More than eight would evict each other from the first-level cache if they lie a multiple
// of 4 KiB apart.
func GemvRows(m vec.Machine) {
	t := m.Tail(m.SliceLen("c"))
	const vectors = 4
	m.IfLE(m.SliceLen("c"), (vectors+1)*m.Width()-1, func() { gemvNarrow(m, t, vectors) }, func() { gemvWide(m, t) })
}

// gemvNarrow is GemvRows for at most that many vectors of columns and a tail, which stay in
// registers.
func gemvNarrow(m vec.Machine, t vec.Tail, vectors int) {
	if vectors > 0 {
		m.IfLE(m.SliceLen("c"), vectors*m.Width()-1, func() { gemvNarrow(m, t, vectors-1) }, func() { gemvColumns(m, t, vectors) })
		return
	}
	gemvColumns(m, t, 0)
}

// gemvColumns is gemvNarrow for exactly that many vectors, and perhaps a tail.
func gemvColumns(m vec.Machine, t vec.Tail, vectors int) {
	columns := func(tail bool) {
		a, b, c, k := m.SlicePtr("a"), m.SlicePtr("b"), m.SlicePtr("c"), m.SliceLen("a")
		ldb := m.IntParam("ldb")
		// row loads the vectors of a row at p.
		row := func(p vec.Ptr) (vs []vec.V) {
			for i := range vectors {
				vs = append(vs, m.Load(p, 4*i*m.Width()))
			}
			if tail {
				end := m.CopyPtr(p)
				m.Bump(end, 4*vectors*m.Width())
				vs = append(vs, m.LoadTail(end, t, 0))
			}
			return vs
		}
		acc := row(c)
		m.Loop(k, 1, func() {
			x := m.LoadScalar(a, 0)
			for i, v := range row(b) {
				m.FMATo(acc[i], x, v)
			}
			m.Bump(a, 4)
			m.BumpBy(b, ldb)
		})
		for i := range vectors {
			m.Store(c, 4*i*m.Width(), acc[i])
		}
		if tail {
			m.Bump(c, 4*vectors*m.Width())
			m.StoreTail(c, t, acc[vectors])
		}
	}
	m.IfLE(t.Count, 0, func() {
		if vectors > 0 {
			columns(false)
		}
	}, func() { columns(true) })
}

// gemvWide is GemvRows for any number of columns.
func gemvWide(m vec.Machine, t vec.Tail) {
	a, b, k := m.SlicePtr("a"), m.SlicePtr("b"), m.SliceLen("a")
	for _, rows := range []int{6, 3, 1} {
		m.Loop(k, rows, func() {
			var e []vec.V
			streams := []vec.Ptr{m.SlicePtr("c")}
			ldb := m.IntParam("ldb")
			for r := range rows {
				e = append(e, m.LoadScalar(a, 4*r))
				streams = append(streams, m.CopyPtr(b))
				m.BumpBy(b, ldb)
			}
			m.Bump(a, 4*rows)
			pass := func(fetch func(s vec.Span, stream, i int)) {
				vec.Each(m, m.SliceLen("c"), t, 2, streams, func(s vec.Span) {
					for i := range s.Vectors {
						sum := s.Load(0, i, 0)
						for r := range rows {
							s.FMATo(sum, e[r], 1+r, i)
							fetch(s, 1+r, i)
						}
						s.Store(0, i, sum)
					}
				})
			}
			plainly := func() { pass(func(vec.Span, int, int) {}) }
			if rows == 1 || !m.Prefetches() {
				plainly()
				return
			}
			ahead := m.IntParam("ahead")
			m.IfLE(ahead, 0, plainly, func() {
				pass(func(s vec.Span, stream, i int) {
					if off := 4 * i * m.Width(); !s.IsTail() && off%cacheLine == 0 {
						m.PrefetchFar(s.Ptr(stream), off, ahead, 4)
					}
				})
			})
		})
	}
}

// GemvDot multiplies rows of B by a vector, several rows together: the lanes of a single row would
// wait for one another. If the rows come from memory, it fetches the next ones during the products.
func GemvDot(m vec.Machine) {
	together := m.Tier().Blocking.GemvRows
	alpha, t := m.FloatParam("alpha"), m.Tail(m.SliceLen("a"))
	b, c, n, ahead := m.SlicePtr("b"), m.SlicePtr("c"), m.SliceLen("c"), m.IntParam("ahead")
	// dots writes the products of a with the next rows of B.
	dots := func(rows int, fetch bool) {
		streams, ldb := []vec.Ptr{m.SlicePtr("a")}, m.IntParam("ldb")
		sums := make([][]vec.V, rows)
		for r := range sums {
			streams = append(streams, m.CopyPtr(b))
			m.BumpBy(b, ldb)
			sums[r] = zeroLanes(m)
		}
		inDotLanes(m, m.SliceLen("a"), t, streams, 2, func(s laneStep) {
			x := s.load(streams[0], 0)
			for r, p := range streams[1:] {
				s.fmaTo(sums[r][s.chain], x, p)
				if fetch && s.chain == 0 {
					m.PrefetchFar(p, s.off-s.off%(4*vec.DotLanes), ahead, 4)
				}
			}
		})
		for ; len(sums) > 0; sums = sums[min(4, len(sums)):] {
			some := sums[:min(4, len(sums))]
			m.StoreLanes(c, plusZero(m, m.DotSums(some), alpha), 0, len(some))
			m.Bump(c, 4*len(some))
		}
	}
	m.IfLE(ahead, 0, func() {
		few := min(4, together)
		m.Loop(n, few, func() { dots(few, false) })
	}, func() {
		m.Loop(n, together, func() { dots(together, true) })
	})
	m.Loop(n, 1, func() { dots(1, false) })
}
