package kernel

import "github.com/avoformer/avoformer/asm/vec"

// AttnDot multiplies queries with keys, both row by row, where there are too
// few of either for packing to pay.
func AttnDot(m vec.Machine) {
	dots(m, queries, keys, m.IntParam("dim"), m.Width(), 1, func(to vec.Ptr) { m.BumpBy(to, m.IntParam("lds")) })
}

// side is a matrix that dots multiplies, by the names of its parameters.
type side struct{ rows, ld, count string }

var queries, keys = side{"q", "ldq", "rows"}, side{"k", "ldk", "n"}

// dots writes the product of row i of down with row j of across to element j of row i of
// s; nextRow goes to the next row of s. The rows of across are taken in groups, of the
// given size and at the end of a half, a quarter and so on of it. A group is multiplied
// with all of down before the next one, so that across comes from memory once. The rows
// of down come in blocks, which share the loads of the group: group*block products are in
// registers at a time. The sums over their lanes are formed together at the end.
func dots(m vec.Machine, down, across side, dim vec.Int, group, block int, nextRow func(s vec.Ptr)) {
	const mostRows = 4
	s, others, n := m.SlicePtr("s"), m.SlicePtr(across.rows), m.IntParam(across.count)
	d := dotBlocks{Machine: m, down: down, across: across, dim: dim, atOnce: group * block, nextRow: nextRow, others: others}
	d.tail, d.alpha, d.sums = m.Tail(dim), m.FloatParam("alpha"), m.Sums()
	for ; group >= 1; group /= 2 {
		m.Loop(n, group, func() {
			row, to, left := m.SlicePtr(down.rows), m.CopyPtr(s), m.IntParam(down.count)
			for of := min(d.atOnce/group, mostRows); of >= 1; of /= 2 {
				m.Loop(left, of, func() {
					d.products(row, to, of, group)
					ld := m.IntParam(down.ld)
					for range of {
						m.BumpBy(row, ld)
					}
				})
			}
			m.Bump(s, 4*group)
			ld := m.IntParam(across.ld)
			for range group {
				m.BumpBy(d.others, ld)
			}
		})
	}
}

// dotBlocks is what the blocks of dots have in common.
type dotBlocks struct {
	vec.Machine
	down, across side
	dim          vec.Int
	atOnce       int     // products of a block
	others       vec.Ptr // the group's rows of across
	nextRow      func(s vec.Ptr)
	tail         vec.Tail
	alpha        vec.V
	sums         func(vs []vec.V) vec.V
}

// dotRows are rows of a side in a block, and the step from one to the next among its sums.
type dotRows struct {
	side
	first   vec.Ptr
	n, step int
}

// products writes those of a block of rows of down with a group of across.
func (d dotBlocks) products(row, to vec.Ptr, block, group int) {
	acc := make([]vec.V, block*group)
	for i := range acc {
		acc[i] = d.Zero()
	}
	// The smaller of the two is held in registers while the other passes.
	held, passing := dotRows{d.down, d.CopyPtr(row), block, group}, dotRows{d.across, d.CopyPtr(d.others), group, 1}
	if held.n > passing.n {
		held, passing = passing, held
	}
	bytes := 4 * d.Width()
	left, unroll := d.CopyInt(d.dim), []int{1}
	if 2*block*group >= d.atOnce {
		unroll = []int{min(4, d.Tier().Blocking.Held/held.n), 1}
	}
	for _, vectors := range unroll {
		d.Loop(left, vectors*d.Width(), func() {
			d.step(acc, held, passing, vectors, func(p vec.Ptr, i int) vec.V { return d.Load(p, i*bytes) })
			d.Bump(held.first, vectors*bytes)
			d.Bump(passing.first, vectors*bytes)
		})
	}
	d.If(left, func() {
		d.step(acc, held, passing, 1, func(p vec.Ptr, _ int) vec.V { return d.LoadTail(p, d.tail, 0) })
	})
	for ; len(acc) > 0; acc = acc[min(len(acc), d.Width()):] {
		n := min(len(acc), d.Width())
		all := d.Mul(d.sums(acc[:n]), d.alpha)
		for i := 0; i < n; i += group {
			d.StoreLanes(to, all, i, group)
			d.nextRow(to)
		}
	}
}

// step adds the products of some vectors of each row.
func (d dotBlocks) step(acc []vec.V, held, passing dotRows, vectors int, load func(p vec.Ptr, i int) vec.V) {
	each := func(r dotRows, f func(i int, p vec.Ptr)) {
		p, ld := d.CopyPtr(r.first), d.IntParam(r.ld)
		for i := range r.n {
			if i > 0 {
				d.BumpBy(p, ld)
			}
			f(i, p)
		}
	}
	x := make([][]vec.V, held.n)
	each(held, func(h int, p vec.Ptr) {
		for i := range vectors {
			x[h] = append(x[h], load(p, i))
		}
	})
	each(passing, func(j int, p vec.Ptr) {
		for i := range vectors {
			v := load(p, i)
			for h := range x {
				d.FMATo(acc[h*held.step+j*passing.step], x[h][i], v)
			}
		}
	})
}
