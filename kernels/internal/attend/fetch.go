package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// While a strip is multiplied, this file fetches the operands that are used next into the core's
// own caches: the queries and the output of the next strip, and a share of the keys and values of
// the next tile or of the next unit.

// fetchAhead queues the memory used after the strip of rows [from, to) and the keys from j on:
// either queries and keys, or output and values.
func (u *unit) fetchAhead(from, to, j int, values bool) {
	c, w := u.c, u.w
	w.ahead.n = 0
	if u.g.splits > 1 || !simd.KernelAttnPanels.InAssembly(c.isa) {
		return
	}
	if to < u.rows {
		if j == u.lo {
			u.fetchRows(to, values)
		}
	} else if u.after(j) >= u.hi && w.next.rows > 0 && !u.g.interleaved() {
		w.next.fetchRows(0, values)
	}
	if u.after(j) < u.hi {
		u.fetchKeys(u.after(j), u.hi, from, to, u.rows, values)
	} else if w.next.rows > 0 {
		w.next.fetchKeys(0, u.g.lenK, from, to, u.rows, values)
	}
}

// fetchRows queues the queries, or the output, of the strip that begins at row r.
func (u *unit) fetchRows(r int, output bool) {
	n := u.stripEnd(r) - r
	if output {
		u.w.ahead.rows(u.o[r*u.ldo:], n, u.c.P.ValueDim, u.ldo)
	} else {
		u.w.ahead.rows(u.q[r*u.ldq:], n, u.c.P.HeadDim, u.ldq)
	}
}

// afterValues returns the address of the keys, in narrow pages, that are used after the values from
// j on: those of the next tile, or of the next unit. It returns 0 if there are none.
func (u *unit) afterValues(j int) uintptr {
	switch next := &u.w.next; {
	case u.after(j) < u.hi:
		return u.k.address(u.after(j))
	case next.rows > 0:
		return next.k.address(u.lo)
	}
	return 0
}

// fetchKeys queues the part from/rows to to/rows of the tile of keys, or values, that begins at key
// j.
func (u *unit) fetchKeys(j, end, from, to, rows int, values bool) {
	k, dim, n := &u.k, u.c.P.HeadDim, min(u.g.tile, end-j)
	if values {
		k, dim = &u.v, u.c.P.ValueDim
	}
	if first := n * from / rows; k.pages == nil && first < n {
		u.w.ahead.rows(k.from(j+first), n*to/rows-first, dim, k.ld)
	}
}
