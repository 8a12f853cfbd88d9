package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// keyRows are the keys or values of a head: in place, in pages, or some of them brought together as
// float32.
type keyRows struct {
	data  []float32
	ld    int // elements from a row to the next
	first int // the row that data begins with
	// In pages:
	pages *weights.Pages
	table []int32
	head  int
	apart bool // the rows loaded lie in several pages
}

// keysOf is the keys or values of a head of a sequence.
func (c *Call) keysOf(x []float32, pages *weights.Pages, s Strides, seq, head int) keyRows {
	switch {
	case pages != nil:
		return keyRows{pages: pages, table: c.P.Sequences[seq].Pages, head: head}
	case c.P.Sequences != nil:
		return keyRows{data: x[c.P.Sequences[seq].Key*s.Row+head*s.Head:], ld: s.Row}
	}
	return keyRows{data: x[Offset(s, seq, head, 0):], ld: s.Row}
}

// load makes the rows [j, j+n) float32, which they are unless they lie in narrow pages, and if together
// is set one piece, in buf. While a page of these is widened the next one is fetched, and with the last one what is at then.
func (k *keyRows) load(isa simd.ISA, buf *[]float32, j, n int, together bool, then uintptr) {
	p := k.pages
	if p == nil {
		return
	}
	k.ld, k.first = p.Dim, j
	k.apart = j/p.Rows != (j+n-1)/p.Rows && p.Format == weights.F32 && !together
	switch {
	case k.apart:
		return
	case p.Format == weights.F32 && j/p.Rows == (j+n-1)/p.Rows:
		k.data = p.Wide(int(k.table[j/p.Rows]), k.head, j%p.Rows)
		return
	}
	*buf = mem.Grow(*buf, n*p.Dim)
	k.data = *buf
	for at := 0; at < n; {
		row := (j + at) % p.Rows
		some := min(n-at, p.Rows-row)
		next := then
		if at+some < n {
			next = k.address(j + at + some)
		}
		p.Widen(isa, k.data[at*p.Dim:], int(k.table[(j+at)/p.Rows]), k.head, row, some, next)
		at += some
	}
}

// address is where row j begins in narrow pages, else 0.
func (k *keyRows) address(j int) uintptr {
	if k.pages == nil || k.pages.Format == weights.F32 {
		return 0
	}
	return k.pages.Address(int(k.table[j/k.pages.Rows]), k.head, j%k.pages.Rows)
}

// from is the rows from row j on, of those that are one piece.
func (k *keyRows) from(j int) []float32 { return k.data[(j-k.first)*k.ld:] }

// piece is the rows from row j on that are one piece, at most n, and their number.
func (k *keyRows) piece(j, n int) ([]float32, int) {
	if !k.apart {
		return k.from(j), n
	}
	p := k.pages
	row := j % p.Rows
	return p.Wide(int(k.table[j/p.Rows]), k.head, row), min(n, p.Rows-row)
}
