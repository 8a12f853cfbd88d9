package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/vec"
)

// The body of a kernel is a function over a machine of the vocabulary. It is for any machine, or
// uses instructions that only one machine has.

// Own returns body, except on machines of type M: there it returns emit, which uses instructions of
// these machines to be faster.
func Own[M vec.Machine](body func(vec.Machine), emit func(M)) func(vec.Machine) {
	return func(m vec.Machine) {
		if own, ok := m.(M); ok {
			emit(own)
			return
		}
		body(m)
	}
}

// Only returns a body that works only on machines of type M.
func Only[M vec.Machine](emit func(M)) func(vec.Machine) {
	return Own(func(m vec.Machine) { panic(fmt.Sprintf("kernel: no body for %s", m.Tier().Name)) }, emit)
}

const cacheLine = 64
