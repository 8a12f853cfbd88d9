//go:build !purego

#include "textflag.h"

// func addShort(dst, a, b *float32, n int)
TEXT ·addShort(SB), NOSPLIT, $0-32
	MOVQ  dst+0(FP), DI
	MOVQ  a+8(FP), SI
	MOVQ  b+16(FP), DX
	MOVQ  n+24(FP), CX
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	SHRL  $1, AX            // the bug: one lane too few
	KMOVW AX, K1
	VMOVUPS.Z (SI), K1, Z0
	VADDPS.Z (DX), Z0, K1, Z0
	VMOVUPS Z0, K1, (DI)
	VZEROUPPER
	RET

// func maskedLoad(dst, src *float32, mask uint16)
TEXT ·maskedLoad(SB), NOSPLIT, $0-18
	MOVQ    dst+0(FP), DI
	MOVQ    src+8(FP), SI
	MOVWLZX mask+16(FP), AX
	KMOVW   AX, K1
	VMOVUPS.Z (SI), K1, Z0
	VMOVUPS Z0, (DI)
	VZEROUPPER
	RET

// func maskedAdd(dst, src *float32, mask uint16)
TEXT ·maskedAdd(SB), NOSPLIT, $0-18
	MOVQ    dst+0(FP), DI
	MOVQ    src+8(FP), SI
	MOVWLZX mask+16(FP), AX
	KMOVW   AX, K1
	VXORPS  X0, X0, X0
	VADDPS.Z (SI), Z0, K1, Z0
	VMOVUPS Z0, (DI)
	VZEROUPPER
	RET

// func maskedStore(dst, src *float32, mask uint16)
TEXT ·maskedStore(SB), NOSPLIT, $0-18
	MOVQ    dst+0(FP), DI
	MOVQ    src+8(FP), SI
	MOVWLZX mask+16(FP), AX
	KMOVW   AX, K1
	VMOVUPS (SI), Z0
	VMOVUPS Z0, K1, (DI)
	VZEROUPPER
	RET
