package asm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/arch"
)

// checkX86 proves of a compiled function what the assembler does not:
//
//   - it stays within the features and registers of its implementation;
//   - every RET comes right after what the record leaves with, VZEROUPPER, and is the
//     only way out, so that SSE code that follows is not slowed down;
//   - it uses no instruction that its tests cannot vouch for.
func checkX86(im implementation, fn *ir.Function) error {
	instructions := fn.Instructions()
	for n, i := range instructions {
		// Vector and opmask instructions that avo's own constructors did not
		// make carry no features: nothing is known of them.
		if len(i.ISA) == 0 && (i.Opcode[0] == 'V' || i.Opcode[0] == 'K') {
			return fmt.Errorf("%s names no CPU feature", i.Opcode)
		}
		for _, feature := range i.ISA {
			if !slices.Contains(im.features(), feature) && !slices.Contains(arch.EveryAMD64, feature) {
				return fmt.Errorf("%s needs %s, which %s does not have", i.Opcode, feature, im.name())
			}
		}
		for _, r := range i.Registers() {
			number := int(r.(reg.Physical).PhysicalIndex())
			if r.Kind() == reg.KindVector && !slices.Contains(im.tier.Vectors, number) {
				return fmt.Errorf("%s uses vector register %s: too many live vectors for tier %s", i.Opcode, r.Asm(), im.name())
			}
		}
		opcode, _, _ := strings.Cut(i.Opcode, ".")
		if slices.Contains(im.tier.Distrusted, opcode) {
			return fmt.Errorf("%s is computed wrongly by the emulator of the tests", opcode)
		}
		switch {
		case i.Opcode == "CALL":
			return fmt.Errorf("CALL: kernels are leaves")
		case i.Opcode == "RET" && (n == 0 || instructions[n-1].Opcode != im.tier.Leave):
			return fmt.Errorf("RET without %s before it", im.tier.Leave)
		case i.IsBranch && !branchesWithin(fn, i):
			return fmt.Errorf("%s leaves the function", i.Opcode)
		}
	}
	if n := len(instructions); n == 0 || !instructions[n-1].IsTerminal && !instructions[n-1].IsUnconditionalBranch() {
		return fmt.Errorf("runs past its end")
	}
	return nil
}

// branchesWithin reports whether a branch goes to an instruction of its own
// function, but not to a RET, which it would reach past the VZEROUPPER.
func branchesWithin(fn *ir.Function, i *ir.Instruction) bool {
	label := i.TargetLabel()
	if label == nil {
		return false
	}
	for n, node := range fn.Nodes {
		if l, ok := node.(ir.Label); ok && l == *label {
			for _, next := range fn.Nodes[n:] {
				if to, ok := next.(*ir.Instruction); ok {
					return to.Opcode != "RET"
				}
			}
		}
	}
	return false
}
