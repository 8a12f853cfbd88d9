package kernel

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

const cacheLine = 64

// prefetches reports whether the functions below do anything.
func prefetches(m vec.Machine) bool {
	_, ok := m.(*vec.X86)
	return ok
}

// prefetch fetches the cache line bytes after p.
func prefetch(m vec.Machine, p vec.Ptr, bytes int) {
	if x, ok := m.(*vec.X86); ok {
		x.PREFETCHT0(operand.Mem{Base: p.Reg.(reg.Register), Disp: bytes})
	}
}

// prefetchFar fetches the cache line bytes and n float32 elements after p into
// the second-level cache.
func prefetchFar(m vec.Machine, p vec.Ptr, bytes int, n vec.Int) {
	if x, ok := m.(*vec.X86); ok {
		x.PREFETCHT1(operand.Mem{Base: p.Reg.(reg.Register), Disp: bytes, Index: n.Reg.(reg.Register), Scale: 4})
	}
}
