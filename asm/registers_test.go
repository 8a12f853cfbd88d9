package asm

import (
	"maps"
	"strings"
	"testing"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/arch"
)

// TestAllocateRegisters compares the allocation with avo's own pass, on files of both tiers in
// which registers of all kinds are scarce, and on a function whose instruction names a register.
func TestAllocateRegisters(t *testing.T) {
	written := map[string]func() (*ir.File, error){"named": func() (*ir.File, error) {
		ctx := build.NewContext()
		ctx.Function("named")
		ctx.SignatureExpr("func()")
		ctx.XORQ(reg.RAX, reg.RAX)
		x := ctx.GP64()
		ctx.XORQ(x, x)
		ctx.ADDQ(x, reg.RAX)
		ctx.RET()
		return ctx.Result()
	}}
	for _, tier := range []arch.Tier{arch.AVX2, arch.AVX512} {
		for _, group := range byFile(Catalog, tier) {
			if file := group[0].kernel.File; file == "softmax" || file == "layernorm" {
				written[file+" "+tier.Name] = func() (*ir.File, error) { return writeX86(group) }
			}
		}
	}
	for file, write := range written {
		ours, theirs := allocated(t, write, allocateRegisters), allocated(t, write, pass.AllocateRegisters)
		for name, want := range theirs {
			if len(want) == 0 || !maps.Equal(ours[name], want) {
				t.Errorf("%s: %s: %v, want %v", file, name, ours[name], want)
			}
		}
	}
}

// allocated returns the registers of each function.
func allocated(t *testing.T, write func() (*ir.File, error), allocate func(*ir.Function) error) map[string]reg.Allocation {
	t.Helper()
	file, err := write()
	if err != nil {
		t.Fatal(err)
	}
	passes := pass.Concat(pass.FunctionPass(pass.LabelTarget), pass.FunctionPass(pass.CFG), pass.InstructionPass(pass.ZeroExtend32BitOutputs),
		pass.FunctionPass(pass.Liveness), pass.FunctionPass(allocate))
	if err := passes.Execute(file); err != nil {
		t.Fatal(err)
	}
	all := map[string]reg.Allocation{}
	for _, fn := range file.Functions() {
		all[fn.Name] = fn.Allocation
	}
	return all
}

// TestTooManyRegisters expects an error if 33 vectors are live in 32 registers.
func TestTooManyRegisters(t *testing.T) {
	for vectors, want := range map[int]string{32: "", 33: "more registers are live"} {
		ctx := build.NewContext()
		ctx.Function("kernel")
		ctx.SignatureExpr("func()")
		var all []reg.VecVirtual
		for range vectors {
			v := ctx.YMM()
			ctx.VXORPS(v, v, v)
			all = append(all, v)
		}
		for _, v := range all {
			ctx.VADDPS(v, all[0], all[0])
		}
		ctx.RET()
		file, err := ctx.Result()
		if err != nil {
			t.Fatal(err)
		}
		err = compile.Execute(file)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d vectors: %v, want %q", vectors, err, want)
		}
	}
}
