package asm

import (
	"github.com/avoformer/avoformer/asm/kernel"
	"github.com/avoformer/avoformer/asm/vec"
)

// stateKernels are steps of recurrent layers.
var stateKernels = []Kernel{
	stateRows("deltaRows", "(v[c] - sum_r k[r]*s[r]) * beta", kernel.DeltaRows),
	stateRows("scanRows", "v[c] * beta", kernel.ScanRows),
}

// stateRows returns the kernel of a step that adds k[r]*d to the rows of the state.
func stateRows(name, d string, body func(vec.Machine)) Kernel {
	return Kernel{
		File: "recurrence", Source: "recurrence.go", Name: name,
		Doc: []string{
			"decays a state, adds to it, and reads from it, column by column:",
			"",
			"\tfor c := range dst {",
			"\t\ts[r] := state[r*ld+c] * decay",
			"\t\td := " + d,
			"\t\tstate[r*ld+c] = s[r] + k[r]*d",
			"\t\tdst[c] = sum_r q[r]*state[r*ld+c]",
			"\t}",
			"",
			"where sums are in the order of the rows, and products that are added are not rounded.",
		},
		Sizes: []Size{lengths("cols", 1, "vectorLengths"), turn("rows", 0, "0", "1", "2", "3", "5", "8")},
		Params: []Param{out("dst", "1", "cols", "").or("v"), update("state", "rows", "cols", "ld"), Stride("ld"),
			in("q", "1", "rows", ""), in("k", "1", "rows", ""), in("v", "1", "cols", ""), scalar("decay", 0.75, 0, 1), scalar("beta", 0.5, 0)},
		Close: Closeness{Exact: true},
		Body:  body,
	}
}
