package asm

import (
	"bytes"
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"

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
	b, err := printer.NewGoAsm(printer.Config{Name: "kernelgen", Pkg: "simd"}).Print(file)
	if err != nil {
		return nil, err
	}
	_, body, _ := bytes.Cut(b, []byte("\n")) // avo's own first line
	return append([]byte(header(source)), body...), nil
}
