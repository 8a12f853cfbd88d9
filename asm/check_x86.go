package asm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/arch"
)

// checkX86 verifies properties of a compiled function that the assembler does not check:
//
//   - it uses only the features and registers of its implementation; this covers instructions that
//     become bytes;
//   - the first instruction of a feature with an Enter instruction is that instruction;
//   - every RET comes immediately after the Leave instructions of the records, and is the only way
//     out: VZEROUPPER, so that SSE code that follows is not slowed down, and TILERELEASE, so that
//     the core can sleep and the system has no tiles to save;
//   - it uses no instruction that its tests cannot check.
func checkX86(im implementation, fn *ir.Function) error {
	instructions := fn.Instructions()
	if err := checkEntry(im, instructions); err != nil {
		return err
	}
	for n, i := range instructions {
		if len(i.ISA) == 0 && needsFeature(i.Opcode) {
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
		case i.Opcode == "RET" && !leaves(im, instructions[:n]):
			return fmt.Errorf("RET without %s before it", strings.Join(im.leave(), ", "))
		case i.IsBranch && !branchesWithin(fn, i, im.leave()):
			return fmt.Errorf("%s leaves the function", i.Opcode)
		}
	}
	if n := len(instructions); n == 0 || !instructions[n-1].IsTerminal && !instructions[n-1].IsUnconditionalBranch() {
		return fmt.Errorf("runs past its end")
	}
	return nil
}

// needsFeature reports whether an instruction uses vectors, opmasks or tiles, or is emitted as
// bytes, which may use any of them. Instructions that were not made by avo's own constructors carry
// no features, so nothing is known about them.
func needsFeature(opcode string) bool {
	for _, prefix := range []string{"V", "K", "TILE", "TDP", "LDTILE", "STTILE"} {
		if strings.HasPrefix(opcode, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"BYTE", "WORD", "LONG", "QUAD"}, opcode)
}

// checkEntry verifies that the Enter instruction of each feature comes before the feature's other
// instructions.
func checkEntry(im implementation, instructions []*ir.Instruction) error {
	for _, f := range im.on.Needs {
		first := slices.IndexFunc(instructions, func(i *ir.Instruction) bool {
			return slices.ContainsFunc(i.ISA, func(feature string) bool { return slices.Contains(f.Avo, feature) })
		})
		if f.Enter != "" && first >= 0 && instructions[first].Opcode != f.Enter {
			return fmt.Errorf("%s before %s", instructions[first].Opcode, f.Enter)
		}
	}
	return nil
}

// leaves reports whether instructions end with those that must come before a return.
func leaves(im implementation, before []*ir.Instruction) bool {
	leave := im.leave()
	if len(before) < len(leave) {
		return false
	}
	for n, i := range before[len(before)-len(leave):] {
		if i.Opcode != leave[n] {
			return false
		}
	}
	return true
}

// branchesWithin reports whether a branch goes to an instruction of its own function that is
// neither a RET nor, except for the first, one of the instructions that must come before it: the
// branch would skip some of these.
func branchesWithin(fn *ir.Function, i *ir.Instruction, leave []string) bool {
	label := i.TargetLabel()
	if label == nil {
		return false
	}
	for n, node := range fn.Nodes {
		if l, ok := node.(ir.Label); ok && l == *label {
			for _, next := range fn.Nodes[n:] {
				if to, ok := next.(*ir.Instruction); ok {
					return to.Opcode != "RET" && !slices.Contains(leave[min(1, len(leave)):], to.Opcode)
				}
			}
		}
	}
	return false
}
