package weights

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Pages of keys or of values, which may be narrow and take half the memory or a quarter.

// Pages are pages of the rows of several heads: a page has Rows rows of Dim elements for each head,
// one head after the other.
type Pages struct {
	Format           Format
	Heads, Rows, Dim int
	slabs            atomic.Pointer[[]rows] // of slabPages each; the list is replaced, so that readers need no lock
}

// slabPages is how many pages are allocated at a time.
const slabPages = 8

// NewPages returns an empty set of pages.
func NewPages(f Format, heads, rows, dim int) *Pages {
	return &Pages{Format: f, Heads: heads, Rows: rows, Dim: dim}
}

// Len is the number of pages.
func (p *Pages) Len() int {
	if s := p.slabs.Load(); s != nil {
		return slabPages * len(*s)
	}
	return 0
}

// Grow makes n pages or more of them, the new ones of zeros. Pages may be read and set meanwhile.
func (p *Pages) Grow(n int) {
	if n <= p.Len() {
		return
	}
	var slabs []rows
	if s := p.slabs.Load(); s != nil {
		slabs = slices.Clone(*s)
	}
	for len(slabs)*slabPages < n {
		slabs = append(slabs, newRows(p.Format, slabPages*p.Heads*p.Rows, p.Dim))
	}
	p.slabs.Store(&slabs)
}

// Bytes is the memory of a page.
func (p *Pages) Bytes() int {
	n := p.Heads * p.Rows * p.Dim
	switch p.Format {
	case F32:
		return 4 * n
	case Int8:
		return n + 4*p.Heads*p.Rows
	}
	return 2 * n
}

// at is where a row lies.
func (p *Pages) at(page, head, row int) (slab *rows, index int) {
	return &(*p.slabs.Load())[page/slabPages], (page%slabPages*p.Heads+head)*p.Rows + row
}

// Set sets a row of a page, of all heads, to x: [Heads, Dim].
func (p *Pages) Set(page, row int, x []float32) {
	for h := range p.Heads {
		slab, i := p.at(page, h, row)
		slab.set(i, x[h*p.Dim:][:p.Dim])
	}
}

// Copy makes the first n rows of page to those of page from.
func (p *Pages) Copy(to, from, n int) {
	for h := range p.Heads {
		dst, i := p.at(to, h, 0)
		src, j := p.at(from, h, 0)
		dst.copy(i, src, j, n)
	}
}

// Wide is the rows of a head from a row of a page on, in place, nil in narrow formats.
func (p *Pages) Wide(page, head, row int) []float32 {
	slab, i := p.at(page, head, row)
	if slab.wide == nil {
		return nil
	}
	return slab.wide[i*p.Dim : (i-row+p.Rows)*p.Dim]
}

// Widen sets dst to n rows of a head from a row of a page on, as float32. As many bytes at next, unless that is 0, are
// fetched into the core's second-level cache on the way.
func (p *Pages) Widen(isa simd.ISA, dst []float32, page, head, row, n int, next uintptr) {
	slab, i := p.at(page, head, row)
	ahead := 0
	if next != 0 {
		ahead = int(next - slab.address(i))
	}
	slab.widen(isa, dst[:n*p.Dim], i, n, ahead)
}

// Address is where a row of a head begins, 0 where nothing is to be widened.
func (p *Pages) Address(page, head, row int) uintptr {
	slab, i := p.at(page, head, row)
	return slab.address(i)
}

// rows are rows of dim elements in a format.
type rows struct {
	format Format
	dim    int
	wide   []float32
	halves []uint16
	bytes  []int8
	scales []float32 // of the rows of bytes
}

// newRows is n rows of zeros.
func newRows(f Format, n, dim int) rows {
	r := rows{format: f, dim: dim}
	switch size := n * dim; f {
	case F32:
		r.wide = make([]float32, size)
	case BF16, F16:
		r.halves = make([]uint16, size)
	case Int8:
		r.bytes, r.scales = make([]int8, size), make([]float32, min(n, size)) // none for rows without elements
	}
	return r
}

// set sets row i to x.
func (r *rows) set(i int, x []float32) {
	at := i * r.dim
	switch {
	case r.dim == 0:
	case r.format == F32:
		copy(r.wide[at:], x)
	case r.format == BF16:
		for p, v := range x {
			r.halves[at+p] = half.ToBFloat16(v)
		}
	case r.format == F16:
		for p, v := range x {
			r.halves[at+p] = half.ToFloat16(v)
		}
	default:
		scale, inverse := simd.QuantizeBlock(x)
		r.scales[i] = scale
		for p, v := range x {
			r.bytes[at+p] = int8(simd.QuantizeOne(v, inverse))
		}
	}
}

// copy copies n rows of src from row from on to those of r from row to on.
func (r *rows) copy(to int, src *rows, from, n int) {
	i, j, size := to*r.dim, from*r.dim, n*r.dim
	switch {
	case size == 0:
	case r.format == F32:
		copy(r.wide[i:i+size], src.wide[j:])
	case r.format == Int8:
		copy(r.bytes[i:i+size], src.bytes[j:])
		copy(r.scales[to:to+n], src.scales[from:])
	default:
		copy(r.halves[i:i+size], src.halves[j:])
	}
}

// address is where row i begins, 0 in float32.
func (r *rows) address(i int) uintptr {
	switch {
	case len(r.halves) > 0:
		return uintptr(unsafe.Pointer(&r.halves[i*r.dim]))
	case len(r.bytes) > 0:
		return uintptr(unsafe.Pointer(&r.bytes[i*r.dim]))
	}
	return 0
}

// widen makes n rows from row i on float32, and fetches what lies ahead bytes further.
func (r *rows) widen(isa simd.ISA, dst []float32, i, n, ahead int) {
	const most = 1 << 13 // elements of a call
	at, size := i*r.dim, n*r.dim
	vec := simd.BFloat16Vec
	switch {
	case size == 0:
		return
	case r.format == F32:
		copy(dst, r.wide[at:at+size])
		return
	case r.format == Int8:
		some := max(1, most/r.dim)
		for row := 0; row < n; row += some {
			simd.WidenInt8(isa, dst[row*r.dim:], r.bytes[at+row*r.dim:], r.scales[i+row:], min(some, n-row), r.dim, r.dim, 1, ahead)
		}
		return
	case r.format == F16:
		vec = simd.Float16Vec
	}
	for p := 0; p < size; p += most {
		vec(isa, dst[p:min(p+most, size)], r.halves[at+p:min(at+p+most, at+size)], ahead)
	}
}
