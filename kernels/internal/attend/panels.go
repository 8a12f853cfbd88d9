package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// The products of queries with keys. A score is one chain over the features, so the keys are the
// columns of a product: panels of NR keys, as pages have them. Keys in rows are transposed, a tile
// at a time for many queries, and piece by piece for few.

// panelElements is the number of elements that are transposed at a time for few queries, which read
// them at once: up to simd.PanelsAtOnce panels, which stay in the first-level cache.
const panelElements = 1 << 13

// inPanels reports whether the keys lie in pages as panels of the tier.
func (u *unit) inPanels() bool {
	return u.k.pages != nil && u.k.pages.Panel == u.c.nr && u.c.P.Relative == nil
}

// packKeys prepares the keys [j, j+n).
func (u *unit) packKeys(j, n int) {
	c, w, dim := u.c, u.w, u.c.P.HeadDim
	few, relative := u.g.rows <= Size.InPlaceRows, u.c.P.Relative != nil
	u.keys = keyTile{}
	switch {
	case u.inPanels():
		if few || u.k.pages.Format == weights.F32 {
			return
		}
		u.keys.first = j - j%c.nr
		columns := roundUp(j+n-u.keys.first, c.nr)
		w.keys = mem.Grow(w.keys, columns*dim)
		u.k.loadPanels(c.isa, w.keys, u.keys.first, columns, u.v.address(j))
	case u.g.dots || few:
		u.k.load(c.isa, &w.wideKeys, j, n, relative, u.v.address(j))
		return
	default:
		u.k.load(c.isa, &w.wideKeys, j, n, true, u.v.address(j))
		w.keys = mem.Grow(w.keys, roundUp(u.g.tile, c.nr)*dim)
		w.transpose(c, w.keys, u.k.from(j), n, u.k.ld)
		u.keys.first = j
	}
	u.keys.data = w.keys
}

// transpose sets dst to panels of NR columns with n keys, ld elements apart. Columns without a key
// may have any contents.
func (w *scratch) transpose(c *Call, dst, keys []float32, n, ld int) {
	const side = 8 // of the blocks that are transposed by vectors
	dim, at := c.P.HeadDim, 0
	if simd.KernelAttnKeys.InAssembly(c.isa) && dim%16 == 0 {
		at = n / c.nr * c.nr
		simd.AttnKeys(c.isa, dst[:at*dim], keys, at, dim, ld, c.nr)
	}
	for ; at < n; at += c.nr {
		some, from, ldx := min(c.nr, n-at), keys[at*ld:], ld
		if some < side && dim >= side { // whole blocks, whose last rows may have any contents
			w.few = mem.Grow(w.few, side*dim)
			simd.CopyRows(c.isa, w.few, from, some, dim, dim, ld)
			some, from, ldx = side, w.few, dim
		}
		pack.Transpose(c.isa, dst[at*dim:], from, some, dim, c.nr, ldx)
	}
}

// keyPiece returns panels with at most n keys from j on, the column of key j in the first panel,
// and the number of keys. The panels are valid until the next piece.
func (u *unit) keyPiece(j, n int) (panels []float32, column, some int) {
	c, k, dim := u.c, &u.k, u.c.P.HeadDim
	switch {
	case u.keys.data != nil:
		column = j - u.keys.first
		return u.keys.data[column/c.nr*c.nr*dim:], column % c.nr, n
	case u.inPanels():
		return k.panelPiece(c.isa, &u.w.wideKeys, j, n, c.pieceRows(), u.v.address(j))
	}
	rows, some := k.piece(j, n)
	some = min(some, c.pieceRows())
	u.w.panel = mem.Grow(u.w.panel, roundUp(some, c.nr)*dim)
	u.w.transpose(c, u.w.panel, rows, some, k.ld)
	return u.w.panel, 0, some
}

// pieceRows returns the number of keys that are transposed at a time for few queries.
func (c *Call) pieceRows() int {
	return c.nr * max(1, min(simd.PanelsAtOnce, panelElements/max(1, c.nr*c.P.HeadDim)))
}

// scores sets s to the scores of rows [ra, rb) and keys [j, j+n), which are prepared; element 0 of
// s is the first score. Scores are scaled and have the biases; those of hidden keys are -Inf.
func (u *unit) scores(s []float32, lds, ra, rb, j, n int) {
	u.products(s, lds, ra, rb, j, n)
	if u.c.P.Relative != nil {
		u.addRelative(s, lds, ra, rb, j, n)
	}
	u.mask(s, lds, ra, rb, j, n)
}

// products sets s to the scores of the rows [ra, rb) and the keys [j, j+n), without biases.
func (u *unit) products(s []float32, lds, ra, rb, j, n int) {
	p := &u.c.P
	q := u.q[ra*u.ldq:]
	for at := 0; at < n; {
		if u.g.dots {
			keys, some := u.k.piece(j+at, n-at)
			some = min(some, perCall(rb-ra, p.HeadDim))
			dotScores(u.c, rb-ra, some, q, u.ldq, keys, u.k.ld, s[at:], lds)
			at += some
			continue
		}
		if some := u.storedScores(s[at:], lds, rb-ra, q, j+at, n-at, u.v.address(j)); some > 0 {
			at += some
			continue
		}
		panels, column, some := u.keyPiece(j+at, n-at)
		u.columns(s[at:], lds, rb-ra, q, panels, column, some)
		at += some
	}
}

// storedScores multiplies m queries by keys of less than 32 bits where they are stored, beginning
// with key j of the n that are left. It returns the number of keys that it has multiplied: 0 if
// they are prepared in another way, or if key j is not the first of a panel. The memory at address
// then is fetched after the last of the n keys.
func (u *unit) storedScores(s []float32, lds, m int, q []float32, j, n int, then uintptr) int {
	c, w, k := u.c, u.w, &u.k
	if !u.inPanels() || u.keys.data != nil || k.pages.Format == weights.F32 || j%c.nr != 0 {
		return 0
	}
	p, nr := k.pages, c.nr
	page, row, next := int(k.table[j/p.Rows]), j%p.Rows, then
	some := min(n, p.Rows-row, max(nr, perCall(m, p.Dim)/nr*nr))
	if some < n {
		next = k.address(j + some)
	}
	whole := some / nr
	if whole > 0 {
		p.Scores(c.isa, page, k.head, row, whole, m, c.P.Scale, q, u.ldq, s, lds, next)
	}
	if done := whole * nr; done < some { // multiply a whole panel, since the page has all of it
		w.line = mem.Grow(w.line, m*nr)
		p.Scores(c.isa, page, k.head, row+done, 1, m, c.P.Scale, q, u.ldq, w.line, nr, next)
		for i := range m {
			copy(s[i*lds+done:][:some-done], w.line[i*nr:])
		}
	}
	return some
}

// columns multiplies m queries by n keys, beginning with a column of the first panel.
func (u *unit) columns(s []float32, lds, m int, q, panels []float32, column, n int) {
	c, dim := u.c, u.c.P.HeadDim
	panel, done := c.nr*dim, 0
	if column > 0 {
		done = min(c.nr-column, n)
		simd.Panel(c.isa, m, done, dim, c.P.Scale, q, u.ldq, panels[column:], c.nr, 0, s, lds)
		panels = panels[panel:]
	}
	if m == 1 && done < n {
		u.w.wholePanels(c, s[done:], n-done, q[:dim], panels)
		return
	}
	if done < n {
		u.panels(m, n-done, dim, c.P.Scale, q, u.ldq, panels, c.nr, panel, 0, s[done:], lds)
	}
}

// wholePanels sets n elements of s to products of a query and whole panels. The last panels are
// multiplied into a buffer.
func (w *scratch) wholePanels(c *Call, s []float32, n int, q, panels []float32) {
	const most = simd.PanelsAtOnce
	panel, whole := c.nr*len(q), n/(most*c.nr)*most
	if whole > 0 {
		simd.GemvPanels(c.isa, whole, c.nr, c.P.Scale, q, panels, panel, 0, s, c.nr, 0)
	}
	if done := whole * c.nr; done < n {
		w.line = mem.Grow(w.line, most*c.nr)
		simd.GemvPanels(c.isa, roundUp(n-done, c.nr)/c.nr, c.nr, c.P.Scale, q, panels[whole*panel:], panel, 0, w.line, c.nr, 0)
		copy(s[done:n], w.line)
	}
}

// fetchedKeys is the number of keys that are fetched ahead of a single query.
const fetchedKeys = 8

// dotScores computes scores as dot products of queries and keys in rows, times the scale.
func dotScores(c *Call, rows, n int, q []float32, ldq int, keys []float32, ldk int, s []float32, lds int) {
	dim, scale := c.P.HeadDim, c.P.Scale
	if rows == 1 {
		simd.GemvDot(c.isa, scale, s[:n], q[:dim], keys, ldk, fetchedKeys*ldk)
		return
	}
	gemmDot(c.isa, rows, n, dim, scale, q, ldq, keys, ldk, s, lds)
}

// headScores computes the scores of a whole head. s[i*lds+j] is the score of row i of a and row j
// of b; one of a and b has the queries, and the other the keys. After each row of s there may be
// further elements, up to whole panels.
func (w *scratch) headScores(c *Call, dots bool, rows, n int, a []float32, lda int, b []float32, ldb int, s []float32, lds int) {
	if dots {
		dotScores(c, rows, n, a, lda, b, ldb, s, lds)
		return
	}
	dim, scale, step := c.P.HeadDim, c.P.Scale, c.pieceRows()
	w.panel = mem.Grow(w.panel, step*dim)
	width := simd.KernelGemmPanel.On(c.isa).Width
	for at := 0; at < n; at += step {
		some := min(step, n-at)
		w.transpose(c, w.panel, b[at*ldb:], some, ldb)
		if rows == 1 {
			simd.GemvPanels(c.isa, roundUp(some, c.nr)/c.nr, c.nr, scale, a[:dim], w.panel, c.nr*dim, 0, s[at:], c.nr, 0)
			continue
		}
		for j := 0; j < some; j += c.nr {
			simd.Panel(c.isa, rows, min(c.nr, roundUp(some-j, width)), dim, scale, a, lda, w.panel[j*dim:], c.nr, 0, s[at+j:], lds)
		}
	}
}
