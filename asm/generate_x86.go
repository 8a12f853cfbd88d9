package asm

import (
	"bytes"
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// generateX86 is the backend for amd64.
func generateX86(t Tier, source string, kernels []Kernel) ([]byte, error) {
	ctx := build.NewContext()
	ctx.ConstraintExpr("amd64,!purego")
	pool := vec.NewConstPool()
	for _, k := range kernels {
		ctx.Function(k.Name + t.Name)
		ctx.Attributes(attr.NOSPLIT)
		ctx.SignatureExpr(k.Signature)
		x := vec.NewX86(ctx, t.Width, pool)
		k.Emit(t, x)
		x.End()
	}
	file, err := ctx.Result()
	if err != nil {
		return nil, err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return nil, err
	}
	for _, fn := range file.Functions() {
		if err := checkX86(t, fn); err != nil {
			return nil, fmt.Errorf("%s: %w", fn.Name, err)
		}
	}
	b, err := printer.NewGoAsm(printer.Config{Name: "kernelgen", Pkg: "kernels"}).Print(file)
	if err != nil {
		return nil, err
	}
	_, body, _ := bytes.Cut(b, []byte("\n")) // avo's own first line
	return append([]byte(header(source)), body...), nil
}

// checkX86 proves what the assembler does not: that the function stays within
// its tier's instructions and registers, and leaves the vector unit clean.
func checkX86(t Tier, fn *ir.Function) error {
	allowed := map[string]bool{"SSE": false}
	for _, f := range t.Features {
		allowed[f] = true
	}
	var prev *ir.Instruction
	for _, i := range fn.Instructions() {
		for _, isa := range i.ISA {
			if !allowed[isa] && isa != "CMOV" {
				return fmt.Errorf("%s needs %s, which tier %s does not have", i.Opcode, isa, t.Name)
			}
		}
		if t.Width < 16 {
			for _, r := range i.Registers() {
				if r.Kind() == reg.KindVector && r.(reg.Physical).PhysicalIndex() > 15 {
					return fmt.Errorf("%s uses vector register %s: too many live vectors for tier %s", i.Opcode, r.Asm(), t.Name)
				}
			}
		}
		if i.Opcode == "RET" && (prev == nil || prev.Opcode != "VZEROUPPER") {
			return fmt.Errorf("RET without VZEROUPPER before it")
		}
		prev = i
	}
	return nil
}
