package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Body writes a kernel: over the vocabulary, for any machine, or for one of them
// with its own instructions, which then come first.
type Body struct {
	Any  func(vec.Machine)
	X86  func(*vec.X86)
	NEON func(*vec.NEON)
}

// Any is a body over the vocabulary.
func Any(emit func(vec.Machine)) Body { return Body{Any: emit} }

// OnX86 writes the kernel for amd64.
func (b Body) OnX86(x *vec.X86) {
	if b.X86 != nil {
		b.X86(x)
		return
	}
	b.Any(x)
}

// OnNEON writes the kernel for arm64.
func (b Body) OnNEON(x *vec.NEON) {
	if b.NEON != nil {
		b.NEON(x)
		return
	}
	b.Any(x)
}

const cacheLine = 64
