package asm

import (
	"bytes"
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/printer"

	"github.com/avoformer/avoformer/asm/vec/x86"
)

// largestNoSplit is the largest frame of a function that does not check whether the stack has
// enough space: a chain of callers without the check has 792 bytes in total.
const largestNoSplit = 512

// writeX86 writes the implementations with virtual registers.
func writeX86(implementations []implementation) (*ir.File, error) {
	ctx := build.NewContext()
	ctx.ConstraintExpr("amd64,!purego")
	pool := x86.NewConstPool()
	for _, im := range implementations {
		ctx.Function(im.symbol())
		ctx.Attributes(attr.NOSPLIT)
		ctx.SignatureExpr(im.kernel.signature())
		x := x86.New(ctx, im.tier, im.leave(), pool)
		im.on.Body(x)
		x.End()
	}
	return ctx.Result()
}

// generateX86 is the backend for amd64.
func generateX86(source string, implementations []implementation) ([]byte, error) {
	file, err := writeX86(implementations)
	if err != nil {
		return nil, err
	}
	if err := compile.Execute(file); err != nil {
		return nil, err
	}
	for i, fn := range file.Functions() {
		if fn.LocalSize > largestNoSplit {
			fn.Attributes &^= attr.NOSPLIT
		}
		if err := checkX86(implementations[i], fn); err != nil {
			return nil, fmt.Errorf("%s: %w", fn.Name, err)
		}
		x86.Encode(fn)
	}
	b, err := printer.NewGoAsm(printer.Config{Name: "kernelgen", Pkg: "simd"}).Print(file)
	if err != nil {
		return nil, err
	}
	_, body, _ := bytes.Cut(b, []byte("\n")) // avo's own first line
	return append([]byte(header(source)), body...), nil
}
