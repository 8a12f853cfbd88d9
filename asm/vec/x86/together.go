package x86

import (
	"slices"

	"github.com/mmcloughlin/avo/ir"
)

// Together implements Machine. It interleaves the instructions of the parts.
func (x *Machine) Together(n int, part func(i int)) {
	f := x.function()
	begin, longest := len(f.Nodes), 0
	parts := make([][]ir.Node, n)
	for i := range parts {
		part(i)
		parts[i] = slices.Clone(f.Nodes[begin:])
		f.Nodes = f.Nodes[:begin]
		longest = max(longest, len(parts[i]))
	}
	for at := range longest {
		for _, nodes := range parts {
			if at >= len(nodes) {
				continue
			}
			if in, ok := nodes[at].(*ir.Instruction); !ok || in.IsBranch {
				panic("x86.Together: a part has a label or a branch")
			}
			f.Nodes = append(f.Nodes, nodes[at])
		}
	}
}

// function returns the active function.
func (x *Machine) function() *ir.Function {
	file, _ := x.Result()
	for i := len(file.Sections) - 1; i >= 0; i-- {
		if f, ok := file.Sections[i].(*ir.Function); ok {
			return f
		}
	}
	panic("x86: no function has begun")
}
