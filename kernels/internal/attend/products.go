package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// This file has the operands of a tile of keys, and the products of weights and values. The
// products of queries and keys are in panels.go.

// crowded reports whether rows of dim elements, ld apart, should be copied. They should be copied
// for many queries if the rows share a set of the cache: in a fused projection of 1024 features,
// for example, rows are 12 KiB apart.
func (u *unit) crowded(ld, rows, dim int) bool {
	return u.rows >= Size.CrowdedRows && rows*dim <= crowdedElements && tune.Crowd(ld, 16)
}

// packQueries copies the queries of the unit if they crowd the cache, or if they belong to several
// heads.
func (u *unit) packQueries() {
	p, w, fold, row := &u.c.P, u.w, 1, u.ldq
	switch {
	case u.g.interleaved():
		fold, row = u.g.fold, p.QStrides.Row
	case !u.crowded(u.ldq, u.rows, p.HeadDim):
		return
	}
	ld := pack.PaddedRow(p.HeadDim)
	w.queries = mem.Grow(w.queries, u.rows*ld)
	for h := range fold {
		simd.CopyRows(u.c.isa, w.queries[h*ld:], u.q[h*p.QStrides.Head:], u.rows/fold, p.HeadDim, fold*ld, row)
	}
	u.q, u.ldq = w.queries, ld
}

// ownOutput returns memory for the outputs of an interleaved unit, [rows, ValueDim].
func (u *unit) ownOutput() []float32 {
	w := u.w
	w.output = mem.Grow(w.output, u.rows*u.c.P.ValueDim)
	return w.output
}

// spread copies the outputs of an interleaved unit from this memory to the call's output.
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

// panels calls simd.GemmPanel for each panel of b; panels have NR columns and are panel elements
// apart. It fetches the queued memory.
func (u *unit) panels(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb, panel int, beta float32, s []float32, lds int) {
	c, ahead, at := u.c, &u.w.ahead, 0
	if simd.KernelAttnPanels.InAssembly(c.isa) && k > 0 {
		for whole := n / c.nr * c.nr; at < whole; {
			some := min(perCall(m, k*c.nr), max(1, (whole-at)/c.nr/max(1, ahead.n))) * c.nr
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

// packValues prepares the values of the keys [j, j+n): in place, or copied into panels of NR
// columns if they crowd the cache.
func (u *unit) packValues(j, n int) {
	c, p, w := u.c, &u.c.P, u.w
	wide := &w.wideValues
	if u.g.rows <= Size.InPlaceRows { // they are fetched after the keys
		wide = &w.wideKeys
	}
	u.v.load(c.isa, wide, j, n, u.g.rows > Size.InPlaceRows, u.afterValues(j))
	u.tile = valueTile{first: j, ld: u.v.ld, panel: c.nr}
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

// values sets o to beta*o plus the tile s times the first n of the prepared values, for the rows
// [ra, rb). beta is 0 or 1. The products are one chain.
func (u *unit) values(s []float32, lds, ra, rb, n int, beta float32) {
	c, w, v, dim := u.c, u.w, &u.tile, u.c.P.ValueDim
	o, rows := u.o[ra*u.ldo:], rb-ra
	if !u.v.apart && (v.copied || u.g.rows > Size.AccumulateRows) {
		u.panels(rows, dim, n, 1, s, lds, v.data, v.ld, v.panel, beta, o, u.ldo)
		return
	}
	sums, ld := o, u.ldo
	if beta != 0 {
		w.chains = mem.Grow(w.chains, rows*dim)
		sums, ld = w.chains, dim
	}
	for r := range rows {
		clear(sums[r*ld:][:dim])
	}
	for at := 0; at < n; {
		at += u.addValues(sums, ld, s[at:], lds, rows, v.first+at, n-at)
	}
	if beta != 0 {
		addRows(c.isa, o, sums, rows, dim, u.ldo, ld)
	}
}

// addValues adds the first of n values, beginning with value j, times the weights s to the sums of
// some rows. It returns the number of values.
func (u *unit) addValues(sums []float32, ld int, s []float32, lds, rows, j, n int) int {
	c, v, dim := u.c, &u.v, u.c.P.ValueDim
	most := perCall(rows, dim)
	if !v.apart || !v.pages.AddsValues() {
		values, some := v.piece(j, n)
		some = min(some, most)
		simd.AttnValues(c.isa, rows, some, dim, sums, ld, s, lds, values, v.ld)
		return some
	}
	p, next := v.pages, v.then
	some := min(n, p.Rows-j%p.Rows, most)
	if some < n {
		next = v.address(j + some)
	}
	p.AddValues(c.isa, sums, ld, s, lds, rows, int(v.table[j/p.Rows]), v.head, j%p.Rows, some, next)
	return some
}
