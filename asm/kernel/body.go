package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/vec"
)

// The body of a kernel is a function over a machine of the vocabulary, for any machine or
// with the instructions of one alone.

// Own is body, but what emit writes for the machines that it takes: a way of their own by
// which they gain.
func Own[M vec.Machine](body func(vec.Machine), emit func(M)) func(vec.Machine) {
	return func(m vec.Machine) {
		if own, ok := m.(M); ok {
			emit(own)
			return
		}
		body(m)
	}
}

// Only is what emit writes, for no other machine.
func Only[M vec.Machine](emit func(M)) func(vec.Machine) {
	return Own(func(m vec.Machine) { panic(fmt.Sprintf("kernel: no body for %s", m.Tier().Name)) }, emit)
}

const cacheLine = 64
