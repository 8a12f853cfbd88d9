package asm

// This file allocates physical registers, with the same choices as package pass of avo.

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec/x86"
)

// compile does the same as pass.Compile, with allocateRegisters in place of pass.AllocateRegisters.
var compile = pass.Concat(
	pass.Verify,
	pass.FunctionPass(pass.PruneJumpToFollowingLabel),
	pass.FunctionPass(pass.PruneDanglingLabels),
	pass.FunctionPass(pass.LabelTarget),
	pass.FunctionPass(pass.CFG),
	pass.InstructionPass(pass.ZeroExtend32BitOutputs),
	pass.FunctionPass(pass.Liveness),
	pass.FunctionPass(allocateRegisters),
	pass.FunctionPass(pass.BindRegisters),
	pass.FunctionPass(pass.VerifyAllocation),
	pass.FunctionPass(removeUndefined),
	pass.FunctionPass(pass.EnsureBasePointerCalleeSaved),
	pass.Func(pass.IncludeTextFlagHeader),
	pass.FunctionPass(pass.PruneSelfMoves),
	pass.FunctionPass(pass.RequiredISAExtensions),
)

// allocateRegisters has the same result as pass.AllocateRegisters. For each register that it
// allocates, that pass reads all pairs of registers that are live at the same time, and reads a
// pair once for each instruction where it is live. Kernels with hundreds of registers and
// instructions took seconds each.
func allocateRegisters(fn *ir.Function) error {
	free := map[reg.ID][]reg.ID{}         // physical registers that each virtual register may get, the preferred one first
	apart := map[reg.ID]map[reg.ID]bool{} // registers that are live when a register is written
	order := map[reg.Kind][]reg.ID{}      // the physical registers
	for _, i := range fn.Instructions() {
		for _, r := range i.Registers() {
			if order[r.Kind()] == nil {
				order[r.Kind()] = physical(r.Kind())
			}
			if r.ID().IsVirtual() {
				free[r.ID()] = order[r.Kind()]
			}
		}
		for _, d := range i.OutputRegisters() {
			for id, mask := range i.LiveOut {
				if id.Kind() == d.Kind() && id != d.ID() && d.Mask()&mask != 0 {
					join(apart, d.ID(), id)
					join(apart, id, d.ID())
				}
			}
		}
	}
	fn.Allocation = reg.NewEmptyAllocation()
	// settle removes the physical register p from the choices of all registers that must differ
	// from v.
	settle := func(v, p reg.ID) {
		for w := range apart[v] {
			if at := slices.Index(free[w], p); at >= 0 {
				free[w] = slices.Concat(free[w][:at], free[w][at+1:])
			}
		}
	}
	for v := range apart {
		if v.IsPhysical() {
			settle(v, v)
		}
	}
	for len(free) > 0 {
		next, fewest := reg.ID(0), -1
		for v, list := range free {
			if c := cmp.Compare(len(list), fewest); fewest < 0 || c < 0 || c == 0 && v < next {
				next, fewest = v, len(list)
			}
		}
		if fewest == 0 {
			return fmt.Errorf("%s: more registers are live at the same time than there are: %s", fn.Name, pressure(fn, next.Kind()))
		}
		p := free[next][0]
		delete(free, next)
		fn.Allocation[next] = p
		settle(next, p)
	}
	return nil
}

// removeUndefined removes the places where registers become undefined, which only the allocation
// needs.
func removeUndefined(fn *ir.Function) error {
	fn.Nodes = slices.DeleteFunc(fn.Nodes, func(n ir.Node) bool {
		i, ok := n.(*ir.Instruction)
		return ok && i.Opcode == x86.Undefined
	})
	return nil
}

// pressure describes the instruction at which the most registers of a kind are live.
func pressure(fn *ir.Function, k reg.Kind) string {
	most, where := 0, ""
	for _, i := range fn.Instructions() {
		live := 0
		for id := range i.LiveOut {
			if id.Kind() == k {
				live++
			}
		}
		if live > most {
			most, where = live, i.Opcode
		}
	}
	return fmt.Sprintf("of kind %d, %d after %s, and there are %d", k, most, where, len(physical(k)))
}

func join(apart map[reg.ID]map[reg.ID]bool, a, b reg.ID) {
	if apart[a] == nil {
		apart[a] = map[reg.ID]bool{}
	}
	apart[a][b] = true
}

// physical lists the registers of a kind that may be allocated, by number. The base pointer is
// last, because a function that writes it must save it.
func physical(k reg.Kind) []reg.ID {
	var ids, last []reg.ID
	for _, r := range reg.FamilyOfKind(k).Registers() {
		switch {
		case r.Info()&reg.Restricted != 0:
		case r.Info()&reg.BasePointer != 0:
			last = append(last, r.ID())
		default:
			ids = append(ids, r.ID())
		}
	}
	slices.Sort(ids)
	return slices.Concat(slices.Compact(ids), slices.Compact(last))
}
