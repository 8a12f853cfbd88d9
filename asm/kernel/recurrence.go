package kernel

import "github.com/avoformer/avoformer/asm/vec"

// DeltaRows and ScanRows are a step of a recurrent layer on some columns of its state. The columns
// are independent: each is a chain of multiply-adds from row to row. The columns of a few vectors
// stay in registers during the loops over the rows: one for the correction of DeltaRows, and one
// that writes the state and reads from it. Decaying the state twice is cheaper than writing it
// twice.
var (
	DeltaRows = stateRows(true)
	ScanRows  = stateRows(false)
)

func stateRows(corrects bool) func(vec.Machine) {
	const together = 4 // enough chains to hide the latency of a multiply-add
	return func(m vec.Machine) {
		g := &stateGen{Machine: m, corrects: corrects}
		g.dst, g.state, g.v, g.left = m.SlicePtr("dst"), m.SlicePtr("state"), m.SlicePtr("v"), m.SliceLen("dst")
		tail := m.Tail(g.left)
		for _, vectors := range []int{together, 1} {
			m.Loop(g.left, vectors*m.Width(), func() {
				g.columns(vectors,
					func(p vec.Ptr, i int) vec.V { return m.Load(p, 4*i*m.Width()) },
					func(p vec.Ptr, i int, v vec.V) { m.Store(p, 4*i*m.Width(), v) })
				for _, p := range []vec.Ptr{g.dst, g.state, g.v} {
					m.Bump(p, 4*vectors*m.Width())
				}
			})
		}
		m.If(tail.Count, func() {
			g.columns(1,
				func(p vec.Ptr, _ int) vec.V { return m.LoadTail(p, tail, 0) },
				func(p vec.Ptr, _ int, v vec.V) { m.StoreTail(p, tail, v) })
		})
	}
}

// stateGen has what all groups of columns share.
type stateGen struct {
	vec.Machine
	corrects      bool
	dst, state, v vec.Ptr // the next columns
	left          vec.Int
}

// columns emits the step for the columns of some vectors.
func (g *stateGen) columns(vectors int, load func(p vec.Ptr, i int) vec.V, store func(p vec.Ptr, i int, v vec.V)) {
	zeros := func() (vs []vec.V) {
		for range vectors {
			vs = append(vs, g.Zero())
		}
		return vs
	}
	decay := g.FloatParam("decay")
	// rows runs body for each row, with a copy of the address of its columns, and their vectors,
	// decayed.
	rows := func(streams []vec.Ptr, body func(row vec.Ptr, x []vec.V)) {
		row, left, ld := g.CopyPtr(g.state), g.SliceLen("k"), g.IntParam("ld")
		g.Loop(left, 1, func() {
			var x []vec.V
			for i := range vectors {
				x = append(x, g.Mul(load(row, i), decay))
			}
			body(row, x)
			g.BumpBy(row, ld)
			for _, p := range streams {
				g.Bump(p, 4)
			}
		})
	}
	d := zeros()
	if g.corrects {
		k := g.SlicePtr("k")
		rows([]vec.Ptr{k}, func(_ vec.Ptr, x []vec.V) {
			e := g.LoadScalar(k, 0)
			for i := range x {
				g.FMATo(d[i], e, x[i])
			}
		})
	}
	beta := g.FloatParam("beta")
	for i := range d {
		v := load(g.v, i)
		if g.corrects {
			v = g.Sub(v, d[i])
		}
		g.CopyTo(d[i], g.Mul(v, beta))
	}
	k, q, sums := g.SlicePtr("k"), g.SlicePtr("q"), zeros()
	rows([]vec.Ptr{k, q}, func(row vec.Ptr, x []vec.V) {
		e, f := g.LoadScalar(k, 0), g.LoadScalar(q, 0)
		for i := range x {
			g.FMATo(x[i], e, d[i])
			store(row, i, x[i])
			g.FMATo(sums[i], f, x[i])
		}
	})
	for i := range sums {
		store(g.dst, i, sums[i])
	}
}
