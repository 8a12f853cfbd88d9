package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/kv"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// keyRows has the keys or values of a head: in place, in pages, or some of them copied together as
// float32.
type keyRows struct {
	data  []float32
	ld    int // elements from a row to the next
	first int // the row that data begins with
	// In pages:
	pages *kv.Pages
	table []int32
	head  int
	apart bool // the loaded rows are in several pages, or are converted to float32 piece by piece
	isa   simd.ISA
	buf   *[]float32 // memory for the converted pieces
	then  uintptr    // the address of the memory that is used after them
}

// pieceElements is the number of elements that are widened to float32 at a time for few queries,
// which read them at once: a quarter of the smallest first-level cache.
const pieceElements = 1 << 11

// keysOf returns the keys or values of a head of a sequence.
func (c *Call) keysOf(x []float32, pages *kv.Pages, s Strides, seq, head int) keyRows {
	switch {
	case pages != nil:
		return keyRows{pages: pages, table: c.P.Sequences[seq].Pages, head: head}
	case c.P.Sequences != nil:
		return keyRows{data: x[c.P.Sequences[seq].Key*s.Row+head*s.Head:], ld: s.Row}
	}
	return keyRows{data: x[Offset(s, seq, head, 0):], ld: s.Row}
}

// load provides the rows [j, j+n) as float32. Rows in narrow pages are widened: if together is set,
// all at once into buf, and otherwise by piece. While rows are widened, load fetches the next ones,
// and with the last rows the memory at then.
func (k *keyRows) load(isa simd.ISA, buf *[]float32, j, n int, together bool, then uintptr) {
	p := k.pages
	if p == nil {
		return
	}
	k.ld, k.first = p.Dim, j
	onePage := p.InPlace() && j/p.Rows == (j+n-1)/p.Rows
	if k.apart = !together && !onePage; k.apart {
		k.isa, k.buf, k.then = isa, buf, then
		return
	}
	if onePage {
		k.data = p.Wide(int(k.table[j/p.Rows]), k.head, j%p.Rows)
		return
	}
	*buf = mem.Grow(*buf, n*p.Dim)
	k.data = *buf
	for at := 0; at < n; {
		some := min(n-at, p.Rows-(j+at)%p.Rows)
		k.widen(isa, k.data[at*p.Dim:], j+at, some, n-at, then)
		at += some
	}
}

// widen widens the first some of n rows from row j on to float32. These rows are in one page.
func (k *keyRows) widen(isa simd.ISA, dst []float32, j, some, n int, then uintptr) {
	if some < n {
		then = k.address(j + some)
	}
	k.pages.Widen(isa, dst, int(k.table[j/k.pages.Rows]), k.head, j%k.pages.Rows, some, then)
}

// address returns the address of row j in narrow pages, or of the panel that contains it, and 0 for
// other keys.
func (k *keyRows) address(j int) uintptr {
	if k.pages == nil || k.pages.Format == weights.F32 {
		return 0
	}
	return k.pages.Address(int(k.table[j/k.pages.Rows]), k.head, j%k.pages.Rows)
}

// loadPanels widens the rows [j, j+n), whole panels, to float32. At the same time it fetches the
// next panels, and with the last ones the memory at then.
func (k *keyRows) loadPanels(isa simd.ISA, dst []float32, j, n int, then uintptr) {
	p := k.pages
	for at := 0; at < n; {
		next, some := then, min(n-at, p.Rows-(j+at)%p.Rows)
		if at+some < n {
			next = k.address(j + at + some)
		}
		p.WidenPanels(isa, dst[at*p.Dim:], int(k.table[(j+at)/p.Rows]), k.head, (j+at)%p.Rows, some, next)
		at += some
	}
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// panelPiece returns panels of a page with the rows from row j on as float32, the column of row j
// in the first of them, and the number of rows: at most n, and at most limit if they are widened.
func (k *keyRows) panelPiece(isa simd.ISA, buf *[]float32, j, n, limit int, then uintptr) (panels []float32, column, some int) {
	p := k.pages
	row := j % p.Rows
	column = row % p.Panel
	some = min(n, p.Rows-row)
	if p.Format == weights.F32 {
		return p.Wide(int(k.table[j/p.Rows]), k.head, row-column), column, some
	}
	some = min(some, limit-column)
	rows := roundUp(column+some, p.Panel)
	*buf = mem.Grow(*buf, rows*p.Dim)
	if some < n {
		then = k.address(j + some)
	}
	p.WidenPanels(isa, *buf, int(k.table[j/p.Rows]), k.head, row-column, rows, then)
	return *buf, column, some
}

// from returns the rows from row j on that are contiguous.
func (k *keyRows) from(j int) []float32 { return k.data[(j-k.first)*k.ld:] }

// piece returns the rows from row j on that are contiguous, at most n, and their number. They are
// valid until the next call with the same buf. n must be the number of all rows that are left.
func (k *keyRows) piece(j, n int) ([]float32, int) {
	if !k.apart {
		return k.from(j), n
	}
	p := k.pages
	row := j % p.Rows
	some := min(n, p.Rows-row)
	if p.InPlace() {
		return p.Wide(int(k.table[j/p.Rows]), k.head, row), some
	}
	some = min(some, max(1, pieceElements/max(p.Dim, 1)))
	*k.buf = mem.Grow(*k.buf, some*p.Dim)
	k.widen(k.isa, *k.buf, j, some, n, k.then)
	return *k.buf, some
}
