//go:build linux

#include "textflag.h"

// func run(code unsafe.Pointer, registers *[16]uint64)
TEXT ·run(SB), 0, $8-16
	MOVQ registers+8(FP), DI
	MOVQ (8*0)(DI), AX
	MOVQ (8*1)(DI), CX
	MOVQ (8*2)(DI), DX
	MOVQ (8*3)(DI), BX
	MOVQ (8*6)(DI), SI
	MOVQ (8*8)(DI), R8
	MOVQ (8*9)(DI), R9
	MOVQ (8*10)(DI), R10
	MOVQ (8*11)(DI), R11
	MOVQ (8*12)(DI), R12
	MOVQ (8*13)(DI), R13
	MOVQ (8*14)(DI), R14
	MOVQ code+0(FP), R15
	MOVQ (8*7)(DI), DI
	CALL R15
	RET

// func xgetbv(of uint32) uint64
TEXT ·xgetbv(SB), NOSPLIT, $0-16
	MOVL of+0(FP), CX
	XGETBV
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+8(FP)
	RET
