package kernels

import (
	"unsafe"

	"github.com/avoformer/avoformer/kernels/internal/product"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// While a strip is multiplied, what comes next is fetched into the core's own caches: the queries and
// the output of the next strip, and a share of the next tile's keys and values, or of the next unit's.

// fetchRun is memory to fetch: count pieces, pace bytes apart.
type fetchRun struct {
	at          uintptr
	pace, count int
}

// fetchQueue is what the next products fetch, one run with each call of simd.AttnPanels.
type fetchQueue struct {
	runs [16]fetchRun
	n    int
}

// rows adds n rows of a matrix.
func (f *fetchQueue) rows(x []float32, n, dim, ld int) {
	at, bytes := uintptr(unsafe.Pointer(unsafe.SliceData(x))), dim*product.Element
	if ld == dim {
		f.add(fetchRun{at, simd.FetchedPiece, (n*bytes + simd.FetchedPiece - 1) / simd.FetchedPiece})
		return
	}
	for ; bytes > 0; bytes -= simd.FetchedPiece {
		f.add(fetchRun{at, ld * product.Element, n})
		at += simd.FetchedPiece
	}
}

func (f *fetchQueue) add(r fetchRun) {
	if f.n < len(f.runs) && r.count > 0 {
		f.runs[f.n] = r
		f.n++
	}
}

// take is a run, relative to b, for simd.AttnPanels.
func (f *fetchQueue) take(b []float32) (next, pace, count int) {
	if f.n == 0 {
		return 0, 0, 0
	}
	f.n--
	r := f.runs[f.n]
	return (int(r.at) - int(uintptr(unsafe.Pointer(unsafe.SliceData(b))))) / product.Element, r.pace, r.count
}

// fetchAhead queues what is used after the strip of rows [from, to) and the keys from j on: either
// queries and keys, or output and values.
func (u *attentionUnit) fetchAhead(from, to, j int, values bool) {
	c, w := u.c, u.w
	w.ahead.n = 0
	if c.splits > 1 || simd.KernelAttnPanels.On(c.isa).ISA == Generic {
		return
	}
	if to < u.rows {
		if j == u.lo {
			u.fetchRows(to, values)
		}
	} else if j+c.tile >= u.hi && w.next.rows > 0 {
		w.next.fetchRows(0, values)
	}
	if j+c.tile < u.hi {
		u.fetchKeys(j+c.tile, u.hi, from, to, u.rows, values)
	} else if w.next.rows > 0 {
		w.next.fetchKeys(0, c.p.LenK, from, to, u.rows, values)
	}
}

// fetchRows queues the queries, or the output, of the strip that begins at row r.
func (u *attentionUnit) fetchRows(r int, output bool) {
	n := u.stripEnd(r) - r
	if output {
		u.w.ahead.rows(u.o[r*u.ldo:], n, u.c.p.ValueDim, u.ldo)
	} else {
		u.w.ahead.rows(u.q[r*u.ldq:], n, u.c.p.HeadDim, u.ldq)
	}
}

// fetchKeys queues the part from/rows to to/rows of the tile of keys, or values, that begins at key j.
func (u *attentionUnit) fetchKeys(j, end, from, to, rows int, values bool) {
	k, dim, n := &u.k, u.c.p.HeadDim, min(u.c.tile, end-j)
	if values {
		k, dim = &u.v, u.c.p.ValueDim
	}
	if first := n * from / rows; k.narrow == nil && first < n {
		u.w.ahead.rows(k.from(j+first), n*to/rows-first, dim, k.ld)
	}
}
