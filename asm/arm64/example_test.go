package arm64_test

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/arm64"
)

// The dot product of two vectors whose length is a multiple of 4.
func Example() {
	file := arm64.NewFile()
	f := file.Function("dot", "func(a, b []float32) float32")
	f.Doc("is the dot product of a and b, whose length is a multiple of 4.")
	a, b, n := f.GP(), f.GP(), f.GP()
	f.Load(f.Param("a").Base(), a)
	f.Load(f.Param("b").Base(), b)
	f.Load(f.Param("a").Len(), n)
	sum, x, y := f.V(), f.V(), f.V()
	f.VMOVI(0, sum.B16())
	f.CBZ(n, "done")
	f.Label("loop")
	f.FMOVQ(arm64.Post(a, 16), x)
	f.FMOVQ(arm64.Post(b, 16), y)
	f.VFMLA(x.S4(), y.S4(), sum.S4())
	f.SUBS(arm64.Imm(4), n, n)
	f.BCond(arm64.NE, "loop")
	f.Label("done")
	f.Comment("add the four lanes")
	f.VFADDP(sum.S4(), sum.S4(), sum.S4())
	f.VFADDP(sum.S4(), sum.S4(), sum.S4())
	f.Store(sum, f.ReturnIndex(0))
	f.RET()

	text, err := file.Assembly()
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n%s", text, file.Stubs("vector"))
	// Output:
	// //go:build arm64
	//
	// #include "textflag.h"
	//
	// // func dot(a []float32, b []float32) float32
	// TEXT ·dot(SB), NOSPLIT, $0-52
	// 	MOVD  a_base+0(FP), R0
	// 	MOVD  b_base+24(FP), R1
	// 	MOVD  a_len+8(FP), R2
	// 	VMOVI $0, V0.B16
	// 	CBZ   R2, done
	//
	// loop:
	// 	FMOVQ.P 16(R0), F1
	// 	FMOVQ.P 16(R1), F2
	// 	VFMLA   V1.S4, V2.S4, V0.S4
	// 	SUBS    $4, R2, R2
	// 	BNE     loop
	//
	// done:
	// 	// add the four lanes
	// 	WORD  $0x6e20d400 // faddp v0.4s, v0.4s, v0.4s
	// 	WORD  $0x6e20d400 // faddp v0.4s, v0.4s, v0.4s
	// 	FMOVS F0, ret+48(FP)
	// 	RET
	//
	// //go:build arm64
	//
	// package vector
	//
	// // dot is the dot product of a and b, whose length is a multiple of 4.
	// //
	// //go:noescape
	// func dot(a []float32, b []float32) float32
}
