package product

import (
	"slices"
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file has products of runs of A's rows, each with its own packed B. Threads compute them
// concurrently.

// Group is a call of kernels.GemmGrouped. Add adds its products.
type Group struct {
	calls []call
	ends  []int // end of each call's parts in the numbering of all parts
}

var groups = sync.Pool{New: func() any { return new(Group) }}

// NewGroup returns a group without products.
func NewGroup() *Group { return groups.Get().(*Group) }

// Add adds the product C = A*B + bias, with checked arguments.
func (p *Group) Add(m int, a []float32, lda int, b *weights.Matrix, c []float32, ldc int, bias []float32) {
	if m == 0 || b.N == 0 {
		return
	}
	if b.K == 0 {
		var one PackedCall
		one.Set(m, 1, a, lda, b, 0, c, ldc)
		one.Finish(bias, Identity, nil, 0)
		one.Run(1)
		return
	}
	p.calls = append(p.calls, call{})
	g := &p.calls[len(p.calls)-1]
	g.set(m, b.N, b.K, 1, a, lda, 0, c, ldc)
	g.b.packed, g.ep.Bias = b, bias
	g.isa = b.Record.ISA
}

// Run computes the products on up to t threads, and frees the group: it must not be used again.
func (p *Group) Run(t int) {
	total := 0
	for i := range p.calls {
		g := &p.calls[i]
		g.way = wayOf(g.operands())
		total += g.workOf()
	}
	t = par.Most(t, nanoseconds(total))
	parts := 0
	for i := range p.calls {
		g := &p.calls[i]
		a, b := g.operands()
		g.batch = max(1, total/g.workOf()) // cut as if all work consisted of products of this shape
		g.decide(t, a, b)
		g.batch = 1
		g.count()
		parts += g.cutM * g.cutN
		p.ends = append(p.ends, parts)
	}
	par.Run(t, parts, p)
	clear(p.calls)
	p.calls, p.ends = p.calls[:0], p.ends[:0]
	groups.Put(p)
}

// Do implements par.Task.
func (p *Group) Do(from, to int) {
	at, _ := slices.BinarySearch(p.ends, from+1)
	for ; from < to; at++ {
		g, end := &p.calls[at], min(to, p.ends[at])
		first := p.ends[at] - g.cutM*g.cutN
		g.Do(from-first, end-first)
		from = end
	}
}
