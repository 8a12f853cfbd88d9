package transformer

import (
	"slices"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// This file has the pool from which histories take pages: the free pages, the number of histories
// that share each, and the memory of the layers' rows.

// PagesConfig describes the pages of a pool.
type PagesConfig struct {
	// Rows is the number of rows of a page; 0: PageRows.
	Rows int
	// Windows has for each layer the size of its SlidingWindow mask, or one size for all layers; 0:
	// all keys. Pages that no later query sees are freed: memory depends on the window and not on
	// the length. Masks with data cannot be combined with a window.
	Windows []int
	// Format is the format of the keys and values of self-attention: FormatF32, the default;
	// FormatBF16 or FormatF16; or FormatInt8, with a scale for each row of a head. The keys and
	// values of a memory are float32, and the inputs of a convolution too.
	Format kernels.Format
	// Limit bounds the bytes of the pages in use; 0: no limit. The very first pass of a pool is
	// counted only after it has run, because it determines the size of a row.
	Limit int64
}

// Pages is a pool of pages of the keys and values of a stack of layers: a page holds the keys and
// values of some rows of a sequence, for all layers with the same window. Histories take pages from
// it and give them back. It is safe for concurrent use.
type Pages struct {
	PagesConfig
	mu     sync.Mutex
	groups []pageGroup // by window; none before the first pass
	layer  []pageLayer // of the stack
	memory pageGroup   // of cross-attention
	states statePool   // of recurrent layers
	peak   int64
}

// pageGroup has the pages of layers with the same window: a page has the same number in all of
// them.
type pageGroup struct {
	window int     // rows that a query sees, itself included; 0: all
	refs   []int32 // how many histories share each page
	free   []int32
	bytes  int64 // of a page, in all layers that passed so far
}

// pageLayer is a layer's part of the pages.
type pageLayer struct {
	group  int
	self   pageStore
	memory pageStore
}

// pageStore has the rows of a layer; nil before the first pass. A convolution stores its inputs as
// keys, and has no values.
type pageStore struct{ keys, values *kernels.Pages }

// copy copies the first rows of one page to another, among n pages.
func (s pageStore) copy(to, from int32, rows, n int) {
	for _, x := range []*kernels.Pages{s.keys, s.values} {
		if x != nil {
			x.Grow(n)
			x.Copy(int(to), int(from), rows)
		}
	}
}

// stored is the kind of rows that a layer stores.
type stored int

const (
	storedSelf   stored = iota // keys and values
	storedMemory               // those of what cross-attention attends to
	storedInputs               // the inputs of a convolution
)

// PageRows is the default number of rows of a page. With it, the rows of a head in a page are
// contiguous for some kilobytes.
const PageRows = 64

// NewPages returns a pool without pages, ready for the first history.
func NewPages(c PagesConfig) (*Pages, error) {
	if c.Rows == 0 {
		c.Rows = PageRows
	}
	if c.Format > kernels.FormatInt8 {
		return nil, check.Errorf(fault.ErrConfig, "pages in format %v, want f32, bf16, f16 or int8", c.Format)
	}
	if c.Rows < 1 || c.Rows > 1<<16 || c.Limit < 0 {
		return nil, check.Errorf(fault.ErrConfig, "pages of %d rows and a limit of %d bytes, want 1 to %d rows and no negative limit", c.Rows, c.Limit, 1<<16)
	}
	p := &Pages{PagesConfig: c}
	p.Windows = nil
	for _, w := range c.Windows {
		p.Windows = append(p.Windows, min(max(w, 0), unbounded))
	}
	return p, nil
}

// Used returns the bytes of the pages in use.
func (p *Pages) Used() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used()
}

// Fits reports whether n more rows of a new history, with a memory of some rows, are within the
// limit.
func (p *Pages) Fits(n, memory int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	need := p.used() + int64(p.pagesOf(memory))*p.memory.bytes + 2*p.states.bytes // the states before a pass and after it
	for i := range p.groups {
		need += int64(p.pagesOf(n)) * p.groups[i].bytes
	}
	return p.Limit == 0 || need <= p.Limit
}

// Peak returns the largest value of Used so far.
func (p *Pages) Peak() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.peak, p.used())
}

func (p *Pages) used() int64 {
	used := p.memory.used() + p.states.used()
	for i := range p.groups {
		used += p.groups[i].used()
	}
	return used
}

func (g *pageGroup) used() int64 { return int64(len(g.refs)-len(g.free)) * g.bytes }

// settle fixes the number of layers, in the first pass.
func (p *Pages) settle(layers int) error {
	if p.layer != nil {
		if len(p.layer) != layers {
			return check.Errorf(fault.ErrShape, "pages of %d layers used with %d", len(p.layer), layers)
		}
		return nil
	}
	if n := len(p.Windows); n > 1 && n != layers {
		return check.Errorf(fault.ErrShape, "pages with %d windows used with %d layers", n, layers)
	}
	p.layer = make([]pageLayer, layers)
	for i := range p.layer {
		window := 0
		if n := len(p.Windows); n > 0 {
			window = p.Windows[min(i, n-1)]
		}
		at := slices.IndexFunc(p.groups, func(g pageGroup) bool { return g.window == window })
		if at < 0 {
			at = len(p.groups)
			p.groups = append(p.groups, pageGroup{window: window})
		}
		p.layer[i].group = at
	}
	return nil
}

// store makes room for all pages in a layer, whose rows have the given heads.
func (p *Pages) store(layer int, of stored, heads, headDim int) (pageStore, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &p.layer[layer]
	s, g, format := &l.self, &p.groups[l.group], p.Format
	switch of {
	case storedMemory:
		s, g, format = &l.memory, &p.memory, kernels.FormatF32
	case storedInputs:
		format = kernels.FormatF32
	}
	if s.keys == nil {
		rows := kernels.NewPages(format, heads, p.Rows, headDim)
		if s.keys = rows; of != storedInputs {
			s.keys, s.values = kernels.NewKeyPages(format, heads, p.Rows, headDim), rows
			g.bytes += int64(s.values.Bytes())
		}
		g.bytes += int64(s.keys.Bytes())
	}
	if s.keys.Heads() != heads || s.keys.Dim() != headDim || (s.values == nil) != (of == storedInputs) {
		return *s, check.Errorf(fault.ErrShape, "pages of a layer with %d heads of %d used with %d heads of %d", s.keys.Heads(), s.keys.Dim(), heads, headDim)
	}
	s.keys.Grow(len(g.refs))
	if s.values != nil {
		s.values.Grow(len(g.refs))
	}
	return *s, nil
}

// take appends n free pages to a table, or none if that would exceed the limit, which is an error.
func (p *Pages) take(g *pageGroup, to *[]int32, n int) error {
	if n <= 0 {
		return nil
	}
	if need := p.used() + int64(n)*g.bytes; p.Limit > 0 && need > p.Limit {
		return check.Errorf(fault.ErrMemory, "histories need %d bytes, the limit is %d", need, p.Limit)
	}
	for range n {
		if len(g.free) == 0 {
			g.refs = append(g.refs, 0)
			g.free = append(g.free, int32(len(g.refs)-1))
		}
		last := len(g.free) - 1
		page := g.free[last]
		g.free = g.free[:last]
		g.refs[page] = 1
		*to = append(*to, page)
	}
	p.peak = max(p.peak, p.used())
	return nil
}

// share counts one more history for each of the pages.
func (g *pageGroup) share(pages []int32) {
	for _, page := range pages {
		g.refs[page]++
	}
}

// give counts one history less, and frees the pages that no history uses.
func (g *pageGroup) give(pages []int32) {
	for _, page := range pages {
		if g.refs[page]--; g.refs[page] == 0 {
			g.free = append(g.free, page)
		}
	}
}

// own makes sure that no other history shares the last page of a table, which has rows to keep.
func (p *Pages) own(group int, table []int32, rows int) error {
	g, last := &p.groups[group], len(table)-1
	if g.refs[table[last]] == 1 {
		return nil
	}
	var fresh []int32
	if err := p.take(g, &fresh, 1); err != nil {
		return err
	}
	for i := range p.layer {
		if l := &p.layer[i]; l.group == group && l.self.keys != nil {
			l.self.copy(fresh[0], table[last], rows, len(g.refs))
		}
	}
	g.give(table[last:])
	table[last] = fresh[0]
	return nil
}

// pagesOf returns the number of pages of some rows.
func (p *Pages) pagesOf(rows int) int { return (rows + p.Rows - 1) / p.Rows }
