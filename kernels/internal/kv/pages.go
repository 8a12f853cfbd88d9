// Package kv stores keys and values of attention in pages: float32, 16-bit numbers, or int8 with a
// scale per row.
package kv

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// Pages holds rows of several heads. A page has Rows rows of Dim elements for each head, one head
// after the other. Panel neighbouring rows of a head are stored as a panel: their first elements,
// then their second ones, and so on. Panel divides Rows. If it is 1, rows are contiguous.
type Pages struct {
	Format                  weights.Format
	Heads, Rows, Dim, Panel int
	slabs                   atomic.Pointer[[]rows] // each has slabPages pages; Grow replaces the list, so that readers need no lock
}

// slabPages is the number of pages that are allocated at a time.
const slabPages = 8

// NewPages returns an empty set of pages of contiguous rows.
func NewPages(f weights.Format, heads, rows, dim int) *Pages {
	return &Pages{Format: f, Heads: heads, Rows: rows, Dim: dim, Panel: 1}
}

// NewKeys returns an empty set of pages of keys. They are stored in the panels that the tier
// multiplies, unless these do not divide a page, or heads are so wide that scores are dot products.
func NewKeys(f weights.Format, heads, rows, dim int) *Pages {
	p := NewPages(f, heads, rows, dim)
	if _, nr := simd.GemmTile(simd.Active()); rows%nr == 0 && !order.WideHead(dim) {
		p.Panel = nr
	}
	return p
}

// Len returns the number of pages.
func (p *Pages) Len() int {
	if s := p.slabs.Load(); s != nil {
		return slabPages * len(*s)
	}
	return 0
}

// Grow adds pages of zeros until there are at least n. Other goroutines may read and set pages
// meanwhile.
func (p *Pages) Grow(n int) {
	if n <= p.Len() {
		return
	}
	var slabs []rows
	if s := p.slabs.Load(); s != nil {
		slabs = slices.Clone(*s)
	}
	for len(slabs)*slabPages < n {
		slabs = append(slabs, newRows(p.Format, slabPages*p.Heads*p.Rows, p.Dim, p.Panel))
	}
	p.slabs.Store(&slabs)
}

// Bytes returns the memory of one page in bytes.
func (p *Pages) Bytes() int {
	n := p.Heads * p.Rows * p.Dim
	switch p.Format {
	case weights.F32:
		return 4 * n
	case weights.Int8:
		return n + 4*p.Heads*p.Rows
	}
	return 2 * n
}

// at returns the slab of a row and its index there.
func (p *Pages) at(page, head, row int) (slab *rows, index int) {
	return &(*p.slabs.Load())[page/slabPages], (page%slabPages*p.Heads+head)*p.Rows + row
}

// Set stores x, [Heads, Dim], as a row of a page.
func (p *Pages) Set(page, row int, x []float32) {
	for h := range p.Heads {
		slab, i := p.at(page, h, row)
		slab.set(i, x[h*p.Dim:][:p.Dim])
	}
}

// Copy copies the first n rows of page from to page to.
func (p *Pages) Copy(to, from, n int) {
	for h := range p.Heads {
		dst, i := p.at(to, h, 0)
		src, j := p.at(from, h, 0)
		dst.copy(i, src, j, n)
	}
}

// InPlace reports whether rows are contiguous as float32.
func (p *Pages) InPlace() bool { return p.Format == weights.F32 && p.Panel == 1 }

// Wide returns the memory of a head in a page from the given row on, which is the first of a panel.
// It returns nil unless the format is float32.
func (p *Pages) Wide(page, head, row int) []float32 {
	slab, i := p.at(page, head, row)
	if slab.wide == nil {
		return nil
	}
	return slab.wide[i*p.Dim : (i-row+p.Rows)*p.Dim]
}

// Widen sets dst to n rows of a head as float32, beginning with the given row of the page. Unless
// next is 0, it also fetches the same number of bytes from address next into the second-level
// cache.
func (p *Pages) Widen(isa simd.ISA, dst []float32, page, head, row, n int, next uintptr) {
	if p.Panel == 1 {
		p.WidenPanels(isa, dst, page, head, row, n, next)
		return
	}
	slab, i := p.at(page, head, row)
	for r := range n {
		slab.gather(dst[r*p.Dim:][:p.Dim], i+r)
	}
}

// WidenPanels does the same as Widen for whole panels of n rows in total. The result has panels
// too.
func (p *Pages) WidenPanels(isa simd.ISA, dst []float32, page, head, row, n int, next uintptr) {
	slab, i := p.at(page, head, row)
	slab.widen(isa, dst[:n*p.Dim], i, n, slab.distance(i, next))
}

// Address returns the address of a row of a head, or of the panel that contains it. It returns 0
// for float32, which needs no widening.
func (p *Pages) Address(page, head, row int) uintptr {
	slab, i := p.at(page, head, row)
	return slab.address(i / p.Panel * p.Panel)
}

// rows are rows of dim elements, in panels. One of wide, halves and bytes holds them, depending on
// the format.
type rows struct {
	format     weights.Format
	dim, panel int
	wide       []float32
	halves     []uint16
	bytes      []int8
	scales     []float32 // one per row of bytes
}

// newRows returns n rows of zeros, a multiple of panel.
func newRows(f weights.Format, n, dim, panel int) rows {
	r := rows{format: f, dim: dim, panel: panel}
	switch size := n * dim; f {
	case weights.F32:
		r.wide = make([]float32, size)
	case weights.BF16, weights.F16:
		r.halves = make([]uint16, size)
	case weights.Int8:
		r.bytes, r.scales = make([]int8, size), make([]float32, min(n, size)) // no scales for rows without elements
	}
	return r
}

// start returns the index of the first element of row i; its other elements follow r.panel elements
// apart.
func (r *rows) start(i int) int { return i/r.panel*r.panel*r.dim + i%r.panel }

// set stores x as row i.
func (r *rows) set(i int, x []float32) {
	at := r.start(i)
	switch {
	case r.dim == 0:
	case r.format == weights.F32 && r.panel == 1:
		copy(r.wide[at:], x)
	case r.format == weights.F32:
		for p, v := range x {
			r.wide[at+p*r.panel] = v
		}
	case r.format == weights.BF16:
		for p, v := range x {
			r.halves[at+p*r.panel] = half.ToBFloat16(v)
		}
	case r.format == weights.F16:
		for p, v := range x {
			r.halves[at+p*r.panel] = half.ToFloat16(v)
		}
	default:
		scale, inverse := simd.QuantizeBlock(x)
		r.scales[i] = scale
		for p, v := range x {
			r.bytes[at+p*r.panel] = int8(simd.QuantizeOne(v, inverse))
		}
	}
}

// gather sets dst to row i as float32.
func (r *rows) gather(dst []float32, i int) {
	at := r.start(i)
	for p := range dst {
		switch q := at + p*r.panel; r.format {
		case weights.F32:
			dst[p] = r.wide[q]
		case weights.BF16:
			dst[p] = half.BFloat16(r.halves[q])
		case weights.F16:
			dst[p] = half.Float16(r.halves[q])
		default:
			dst[p] = r.scales[i] * float32(r.bytes[q])
		}
	}
}

// copy copies n rows of src, beginning with row from, to the rows of r that begin with row to. Both
// from and to are the first row of a panel.
func (r *rows) copy(to int, src *rows, from, n int) {
	i, j := to*r.dim, from*r.dim
	switch {
	case n*r.dim == 0:
	case r.format == weights.F32:
		copyRows(r.wide[i:], src.wide[j:], n, r.dim, r.panel)
	case r.format == weights.Int8:
		copyRows(r.bytes[i:], src.bytes[j:], n, r.dim, r.panel)
		copy(r.scales[to:to+n], src.scales[from:])
	default:
		copyRows(r.halves[i:], src.halves[j:], n, r.dim, r.panel)
	}
}

// copyRows copies n rows of dim elements in panels, and leaves the other rows of the last panel as
// they are.
func copyRows[T float32 | uint16 | int8](dst, src []T, n, dim, panel int) {
	left := n % panel
	whole := (n - left) * dim
	copy(dst[:whole], src)
	for p := 0; p < dim && left > 0; p++ {
		copy(dst[whole+p*panel:][:left], src[whole+p*panel:])
	}
}

// address returns the address of row i, which is the first of a panel. It returns 0 for float32,
// which needs no widening.
func (r *rows) address(i int) uintptr {
	switch {
	case len(r.halves) > 0:
		return uintptr(unsafe.Pointer(&r.halves[i*r.dim]))
	case len(r.bytes) > 0:
		return uintptr(unsafe.Pointer(&r.bytes[i*r.dim]))
	}
	return 0
}

// distance returns the number of bytes from row i, which is the first of a panel, to next. It
// returns 0 if next is 0.
func (r *rows) distance(i int, next uintptr) int {
	if next == 0 {
		return 0
	}
	return int(next - r.address(i))
}

// widen sets dst to n rows from row i on, in whole panels, and fetches the memory ahead bytes after
// them.
func (r *rows) widen(isa simd.ISA, dst []float32, i, n, ahead int) {
	const most = 1 << 13 // elements of a call
	at, size := i*r.dim, n*r.dim
	vec := simd.BFloat16Vec
	switch {
	case size == 0:
		return
	case r.format == weights.F32:
		copy(dst, r.wide[at:at+size])
		return
	case r.format == weights.Int8 && r.panel > 1:
		for row := 0; row < n; row += r.panel {
			for p := 0; p < r.dim; p += most / r.panel {
				from, some := row*r.dim+p*r.panel, min(most/r.panel, r.dim-p)
				simd.WidenInt8Panel(isa, dst[from:], r.bytes[at+from:], r.scales[i+row:i+row+r.panel], some, r.panel, ahead)
			}
		}
		return
	case r.format == weights.Int8:
		some := max(1, most/r.dim)
		for row := 0; row < n; row += some {
			simd.WidenInt8(isa, dst[row*r.dim:], r.bytes[at+row*r.dim:], r.scales[i+row:], min(some, n-row), r.dim, r.dim, 1, ahead)
		}
		return
	case r.format == weights.F16:
		vec = simd.Float16Vec
	}
	for p := 0; p < size; p += most {
		vec(isa, dst[p:min(p+most, size)], r.halves[at+p:min(at+p+most, at+size)], ahead)
	}
}
