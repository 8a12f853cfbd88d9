package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/kv"
	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file has pages of keys and values, and the sequences of a call that attends to them.

// Pages hold keys, or values, of many sequences, in pages of a fixed number of rows: as float32 in
// FormatF32, as 16 bits in FormatBF16 or FormatF16, or in FormatInt8 as integers of at most 127
// with a scale for each row of a head. An AttentionSequence lists the pages of a sequence (Kwon et
// al. 2023, "Efficient Memory Management for Large Language Model Serving with PagedAttention").
// Several goroutines may set and read different pages, or different rows of a page, at the same
// time. One goroutine may call Grow at the same time as these.
type Pages struct{ pages *kv.Pages }

// NewPages returns an empty set of pages. Each page has rows rows of dim elements for each head.
func NewPages(f Format, heads, rows, dim int) *Pages {
	checkNewPages("NewPages", f, heads, rows, dim)
	return &Pages{kv.NewPages(weights.Format(f), heads, rows, dim)}
}

// NewKeyPages is NewPages for the keys of Attention. If rows is a multiple of 32 and dim is at most
// 4096, it stores them as the columns of a product, which Attention multiplies in place. With
// NewPages results have the same bits, but take longer.
func NewKeyPages(f Format, heads, rows, dim int) *Pages {
	checkNewPages("NewKeyPages", f, heads, rows, dim)
	return &Pages{kv.NewKeys(weights.Format(f), heads, rows, dim)}
}

// checkNewPages checks the arguments of a function that returns pages.
func checkNewPages(fn string, f Format, heads, rows, dim int) {
	mem.CheckSize(fn, "heads", heads)
	mem.CheckSize(fn, "dim", dim)
	if rows < 1 {
		mem.PanicSize(fn, "rows", rows, "want at least 1")
	}
	switch f {
	case FormatF32, FormatBF16, FormatF16, FormatInt8:
	default:
		mem.PanicSize(fn, "f", int(f), "want FormatF32, FormatBF16, FormatF16 or FormatInt8")
	}
	mem.MulLen(fn, mem.MulLen(fn, heads, rows), dim)
}

// Format returns the elements' format.
func (p *Pages) Format() Format { return Format(p.pages.Format) }

// Heads returns the number of heads.
func (p *Pages) Heads() int { return p.pages.Heads }

// Rows returns the number of rows of a page.
func (p *Pages) Rows() int { return p.pages.Rows }

// Dim returns the number of elements of a row of a head.
func (p *Pages) Dim() int { return p.pages.Dim }

// Len returns the number of pages: 0, 1 and so on up to Len()-1.
func (p *Pages) Len() int { return p.pages.Len() }

// Bytes returns the memory of a page.
func (p *Pages) Bytes() int { return p.pages.Bytes() }

// Grow increases the number of pages to n or slightly more, unless there are as many already. New
// pages hold zeros, and take memory once they are set.
func (p *Pages) Grow(n int) {
	mem.CheckSize("Pages.Grow", "n", n)
	mem.MulLen("Pages.Grow", n+7, max(p.Bytes(), 1))
	p.pages.Grow(n)
}

// at checks that a page has n rows from row on.
func (p *Pages) at(fn, argPage string, page int, argRow string, row, n int) {
	if page < 0 || page >= p.Len() {
		mem.PanicSize(fn, argPage, page, fmt.Sprintf("want one of %d pages", p.Len()))
	}
	if row < 0 || row > p.Rows()-n {
		mem.PanicSize(fn, argRow, row, fmt.Sprintf("want one of %d rows", p.Rows()))
	}
}

// Set sets a row of a page to x, [Heads, Dim], rounded to the format. A head's row with NaN or an
// infinity is all NaN in FormatInt8.
func (p *Pages) Set(page, row int, x []float32) {
	const fn = "Pages.Set"
	p.at(fn, "page", page, "row", row, 1)
	mem.CheckLen(fn, "x", len(x), p.Heads()*p.Dim(), "Heads*Dim")
	p.pages.Set(page, row, x)
}

// Row sets dst, [Heads, Dim], to a row of a page.
func (p *Pages) Row(dst []float32, page, row int) {
	const fn = "Pages.Row"
	p.at(fn, "page", page, "row", row, 1)
	mem.CheckLen(fn, "dst", len(dst), p.Heads()*p.Dim(), "Heads*Dim")
	for h := range p.Heads() {
		p.pages.Widen(simd.Active(), dst[h*p.Dim():], page, h, row, 1, 0)
	}
}

// Copy makes the first n rows of a page those of page from.
func (p *Pages) Copy(page, from, n int) {
	const fn = "Pages.Copy"
	mem.CheckSize(fn, "n", n)
	if n > p.Rows() {
		mem.PanicSize(fn, "n", n, fmt.Sprintf("want at most %d rows", p.Rows()))
	}
	p.at(fn, "page", page, "row", 0, 0)
	p.at(fn, "from", from, "row", 0, 0)
	p.pages.Copy(page, from, n)
}

// AttentionSequence describes one sequence of a call of Attention.
type AttentionSequence struct {
	LenQ, LenK int // queries and keys
	Past       int // the position of the first query
	// Query is the first row of its queries and outputs: query i of head h starts at
	// (Query+i)*QStrides.Row + h*QStrides.Head, and its output at the same place with DstStrides.
	// Key is the first row of its keys and values in the same way, where these are not in pages.
	Query, Key int
	// Pages lists the pages of its keys and values, as many as LenK rows need: row j is row j%Rows
	// of page Pages[j/Rows].
	Pages []int32
}

// inPages returns the pages in the type of the drivers.
func (p *Pages) inPages() *kv.Pages {
	if p == nil {
		return nil
	}
	return p.pages
}

// checkSequences checks the sequences and the arguments that they refer to.
func (p *AttentionParams) checkSequences() {
	const fn = "Attention"
	if len(p.Sequences) != p.Batch || p.LenQ != 0 || p.LenK != 0 || p.Past != 0 {
		panic(fmt.Sprintf("kernels.%s: %d sequences with Batch = %d, LenQ = %d, LenK = %d, Past = %d, want as many, and 0", fn, len(p.Sequences), p.Batch, p.LenQ, p.LenK, p.Past))
	}
	if (p.KPages == nil) != (p.VPages == nil) || p.KPages != nil && (p.K != nil || p.V != nil) {
		panic("kernels.Attention: want K and V, or KPages and VPages")
	}
	checkPages("KPages", p.KPages, p.KVHeads, p.HeadDim)
	checkPages("VPages", p.VPages, p.KVHeads, p.ValueDim)
	if p.KPages != nil && p.KPages.Rows() != p.VPages.Rows() {
		mem.PanicSize(fn, "VPages.Rows", p.VPages.Rows(), fmt.Sprintf("want %d as KPages", p.KPages.Rows()))
	}
	for i := range p.Sequences {
		p.checkSequence(i)
	}
}

// checkPages checks the size of pages, unless there are none.
func checkPages(arg string, pages *Pages, heads, dim int) {
	if pages != nil && (pages.Heads() != heads || pages.Dim() != dim) {
		panic(fmt.Sprintf("kernels.Attention: %s of %d heads of %d elements, want %d of %d", arg, pages.Heads(), pages.Dim(), heads, dim))
	}
}

// checkSequence checks one sequence.
func (p *AttentionParams) checkSequence(i int) {
	const fn = "Attention"
	s := &p.Sequences[i]
	for _, x := range [...]struct {
		name string
		n    int
	}{{"LenQ", s.LenQ}, {"LenK", s.LenK}, {"Past", s.Past}, {"Query", s.Query}, {"Key", s.Key}} {
		if x.n < 0 || x.n > mask.Unlimited {
			mem.PanicSize(fn, fmt.Sprintf("Sequences[%d].%s", i, x.name), x.n, fmt.Sprintf("want 0 to %d", mask.Unlimited))
		}
	}
	if s.LenQ == 0 {
		return
	}
	rows := func(arg string, x []float32, heads, first, n, dim int, strides Strides) {
		if n > 0 {
			checkStrides(fn, arg, len(x), 1, heads, first+n, dim, strides)
		}
	}
	rows("Dst", p.Dst, p.Heads, s.Query, s.LenQ, p.ValueDim, p.DstStrides)
	rows("Q", p.Q, p.Heads, s.Query, s.LenQ, p.HeadDim, p.QStrides)
	if p.KPages == nil {
		rows("K", p.K, p.KVHeads, s.Key, s.LenK, p.HeadDim, p.KStrides)
		rows("V", p.V, p.KVHeads, s.Key, s.LenK, p.ValueDim, p.VStrides)
		return
	}
	need := (s.LenK + p.KPages.Rows() - 1) / p.KPages.Rows()
	if len(s.Pages) < need {
		mem.PanicSize(fn, fmt.Sprintf("len(Sequences[%d].Pages)", i), len(s.Pages), fmt.Sprintf("want %d for %d rows", need, s.LenK))
	}
	most := min(p.KPages.Len(), p.VPages.Len())
	for _, page := range s.Pages[:need] {
		if page < 0 || int(page) >= most {
			mem.PanicSize(fn, fmt.Sprintf("Sequences[%d].Pages", i), int(page), fmt.Sprintf("want 0 to %d", most-1))
		}
	}
}

// sameLengths reports whether all sequences have the same lengths, and returns these.
func (p *AttentionParams) sameLengths() (lenQ, lenK int, same bool) {
	if p.Sequences == nil {
		return p.LenQ, p.LenK, true
	}
	for i, s := range p.Sequences {
		if i == 0 {
			lenQ, lenK = s.LenQ, s.LenK
		}
		if s.LenQ != lenQ || s.LenK != lenK {
			return 0, 0, false
		}
	}
	return lenQ, lenK, true
}
