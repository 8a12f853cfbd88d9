package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// The two products of attention, of queries with keys and of weights with values, for
// a tile of keys.

// crowded reports whether rows of dim elements, ld apart, are better copied. They are for
// many queries, if the rows share a set of the cache: in a fused projection of 1024
// features, for example, rows are 12 KiB apart.
func (u *unit) crowded(ld, rows, dim int) bool {
	return u.rows >= Size.CrowdedRows && rows*dim <= crowdedElements && tune.Crowd(ld, 16)
}

// packQueries copies the queries of the unit if they crowd the cache, or are those of several heads.
func (u *unit) packQueries() {
	p, w := &u.c.P, u.w
	if fold := u.g.fold; u.g.interleaved() {
		ld := pack.PaddedRow(p.HeadDim)
		w.queries = mem.Grow(w.queries, u.rows*ld)
		for h := range fold {
			simd.CopyRows(u.c.isa, w.queries[h*ld:], u.q[h*p.QStrides.Head:], u.rows/fold, p.HeadDim, fold*ld, p.QStrides.Row)
		}
		u.q, u.ldq = w.queries, ld
		return
	}
	if !u.crowded(u.ldq, u.rows, p.HeadDim) {
		return
	}
	ld := pack.PaddedRow(p.HeadDim)
	w.queries = mem.Grow(w.queries, u.rows*ld)
	simd.CopyRows(u.c.isa, w.queries, u.q, u.rows, p.HeadDim, ld, u.ldq)
	u.q, u.ldq = w.queries, ld
}

// ownOutput is memory for the outputs of an interleaved unit, [rows, ValueDim].
func (u *unit) ownOutput() []float32 {
	w := u.w
	w.output = mem.Grow(w.output, u.rows*u.c.P.ValueDim)
	return w.output
}

// spread copies the outputs of an interleaved unit from there to where they belong.
func (u *unit) spread() {
	p, fold := &u.c.P, u.g.fold
	if !u.g.interleaved() {
		return
	}
	for h := range fold {
		o := p.Dst[u.c.row(p.DstStrides, u.seq, u.head+h, u.query):]
		simd.CopyRows(u.c.isa, o, u.o[h*p.ValueDim:], u.rows/fold, p.ValueDim, p.DstStrides.Row, fold*p.ValueDim)
	}
}

// packKeys transposes the keys [j, j+n), panel by panel of NR, into w.keys, and returns
// how many of them. The keys after these are taken in place, as dot products with the
// queries. Where the transpose has room for the scale, the first u.scaled keys are scaled.
func (u *unit) packKeys(j, n int) (packed int) {
	c, p, w := u.c, &u.c.P, u.w
	inPlace := u.g.rows <= Size.DotRows || n <= Size.DotKeys
	u.k.load(c.isa, &w.wideKeys, j, n, !inPlace || p.Relative != nil, u.v.address(j))
	if inPlace {
		return 0
	}
	if tail := n % c.nr; tail*Size.DotTail <= c.nr {
		n -= tail
	}
	w.keys = mem.Grow(w.keys, (u.g.tile+c.nr-1)/c.nr*c.nr*p.HeadDim)
	u.scaled = 0
	if simd.KernelAttnKeys.InAssembly(c.isa) && p.HeadDim%16 == 0 {
		u.scaled = n / c.nr * c.nr
		simd.AttnKeys(c.isa, w.keys[:u.scaled*p.HeadDim], u.k.from(j), u.scaled, p.HeadDim, u.k.ld, p.Scale, c.nr)
	}
	for at := u.scaled; at < n; at += c.nr {
		pack.Transpose(c.isa, w.keys[at*p.HeadDim:], u.k.from(j+at), min(c.nr, n-at), p.HeadDim, c.nr, u.k.ld)
	}
	return n
}

// scores computes the tile of rows [ra, rb) and keys [j, j+n) into s, whose
// element 0 is its first: scaled, with the biases, -Inf where hidden. packed is what
// packKeys returned, for n keys or more.
func (u *unit) scores(s []float32, lds, ra, rb, j, n, packed int) {
	c, p, w := u.c, &u.c.P, u.w
	q := u.q[ra*u.ldq:]
	packed = min(packed, n)
	scaled := min(u.scaled, packed)
	u.panels(rb-ra, scaled, p.HeadDim, 1, q, u.ldq, w.keys, c.nr, c.nr*p.HeadDim, 0, s, lds)
	u.panels(rb-ra, packed-scaled, p.HeadDim, p.Scale, q, u.ldq, w.keys[scaled*p.HeadDim:], c.nr, c.nr*p.HeadDim, 0, s[scaled:], lds)
	// One row of wide keys as one stream, while AttnDot takes four vectors of several keys before the next four.
	stream := u.g.rows == 1 && p.HeadDim >= Size.wideDim && p.HeadDim > 4*simd.KernelAttnDot.On(c.isa).Width
	for packed < n {
		keys, some := u.k.piece(j+packed, n-packed)
		if stream {
			simd.GemvDot(c.isa, p.Scale, s[packed:packed+some], q[:p.HeadDim], keys, u.k.ld, 0)
		} else {
			simd.AttnDot(c.isa, rb-ra, some, p.HeadDim, p.Scale, q, u.ldq, keys, u.k.ld, s[packed:], lds)
		}
		packed += some
	}
	if p.Relative != nil {
		u.addRelative(s, lds, ra, rb, j, n)
	}
	u.mask(s, lds, ra, rb, j, n)
}

// panels is simd.GemmPanel panel by panel of b: NR columns each, panel elements apart. It fetches what
// is queued.
func (u *unit) panels(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb, panel int, beta float32, s []float32, lds int) {
	const most = 1 << 22 // multiply-adds of a call
	c, ahead, at := u.c, &u.w.ahead, 0
	if simd.KernelAttnPanels.InAssembly(c.isa) && k > 0 {
		for whole := n / c.nr * c.nr; at < whole; {
			some := min(max(1, most/(m*k*c.nr)), max(1, (whole-at)/c.nr/max(1, ahead.n))) * c.nr
			some = min(some, whole-at)
			first := b[at/c.nr*panel:]
			next, pace, count := ahead.take(first)
			simd.AttnPanels(c.isa, m, some, k, alpha, a, lda, first, ldb, panel, next, pace, count, beta, s[at:], lds, c.nr)
			at += some
		}
	}
	for ; at < n; at += c.nr {
		simd.Panel(c.isa, m, min(c.nr, n-at), k, alpha, a, lda, b[at/c.nr*panel:], ldb, beta, s[at:], lds)
	}
}

// packValues prepares the values of the keys [j, j+n): in place, or copied into panels
// of NR columns if they crowd the cache.
func (u *unit) packValues(j, n int) {
	c, p, w := u.c, &u.c.P, u.w
	wide := &w.wideValues
	if u.g.rows <= Size.DotRows { // piece by piece, after the keys
		wide = &w.wideKeys
	}
	u.v.load(c.isa, wide, j, n, u.g.rows > Size.DotRows, u.afterValues(j))
	u.tile = valueTile{first: j, ld: u.v.ld, panel: c.nr, keys: n}
	if u.v.apart {
		return
	}
	v := pack.B{Data: u.v.from(j), LD: u.v.ld}
	u.tile.data = v.Data
	if !u.crowded(v.LD, n, p.ValueDim) {
		return
	}
	w.values = mem.Grow(w.values, (p.ValueDim+c.nr-1)/c.nr*c.nr*u.g.tile)
	v.PackPanels(c.isa, w.values, 0, 0, n, p.ValueDim, c.nr)
	u.tile.data, u.tile.ld, u.tile.panel, u.tile.copied = w.values, c.nr, n*c.nr, true
}

// values is o = beta*o + the tile s times the first n of the prepared values, for the
// rows [ra, rb).
func (u *unit) values(s []float32, lds, ra, rb, n int, beta float32) {
	v := &u.tile
	if !u.v.apart {
		u.addValues(s, lds, ra, rb, n, v.data, beta)
		return
	}
	for at := 0; at < n; beta = 1 {
		data, some := u.v.piece(v.first+at, n-at)
		u.addValues(s[at:], lds, ra, rb, some, data, beta)
		at += some
	}
}

// addValues is o = beta*o + s times n values.
func (u *unit) addValues(s []float32, lds, ra, rb, n int, data []float32, beta float32) {
	c, v, dim := u.c, &u.tile, u.c.P.ValueDim
	o, rows := u.o[ra*u.ldo:], rb-ra
	if u.g.rows <= Size.AccumulateRows && !v.copied {
		for r := range rows {
			row := o[r*u.ldo:][:dim]
			if beta == 0 {
				clear(row)
			}
			simd.AttnAccumulate(c.isa, row, s[r*lds:][:n], data, v.ld)
		}
		return
	}
	u.panels(rows, dim, n, 1, s, lds, data, v.ld, v.panel, beta, o, u.ldo)
}
