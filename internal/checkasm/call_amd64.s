//go:build !purego

#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

#define FILL(r) MOVQ $0xc5c5c5c5c5c5c5c5, r

// func call(fn uintptr, f *frame)
TEXT ·call(SB), 0, $1040-16
	NO_LOCAL_POINTERS
	MOVQ f+8(FP), SI
	MOVQ SP, DI
	MOVQ $const_frameWords, CX
	CLD
	REP; MOVSQ

	STMXCSR ·machine+state_mxcsr(SB)
	MOVQ    SP, ·machine+state_sp(SB)
	MOVQ    BP, ·machine+state_bp(SB)

	CMPB ·machine+state_tiles(SB), $0
	JEQ  vectors
	LEAQ ·machine+state_tileConfig(SB), SI
	LONG $0x4978e2c4; BYTE $0x06 // ldtilecfg (%rsi)
	LEAQ ·machine+state_junk(SB), SI
	XORL DI, DI // every row of a tile is the same junk
	LONG $0x4b7be2c4; WORD $0x3e04 // tileloadd (%rsi,%rdi,1), %tmm0
	LONG $0x4b7be2c4; WORD $0x3e0c // tileloadd (%rsi,%rdi,1), %tmm1
	LONG $0x4b7be2c4; WORD $0x3e14 // tileloadd (%rsi,%rdi,1), %tmm2
	LONG $0x4b7be2c4; WORD $0x3e1c // tileloadd (%rsi,%rdi,1), %tmm3
	LONG $0x4b7be2c4; WORD $0x3e24 // tileloadd (%rsi,%rdi,1), %tmm4
	LONG $0x4b7be2c4; WORD $0x3e2c // tileloadd (%rsi,%rdi,1), %tmm5
	LONG $0x4b7be2c4; WORD $0x3e34 // tileloadd (%rsi,%rdi,1), %tmm6
	LONG $0x4b7be2c4; WORD $0x3e3c // tileloadd (%rsi,%rdi,1), %tmm7

vectors:
	CMPB ·machine+state_avx512(SB), $0
	JNE  zmm
	CMPB ·machine+state_avx(SB), $0
	JNE  ymm
	MOVUPS ·machine+state_junk(SB), X0
	MOVAPS X0, X1
	MOVAPS X0, X2
	MOVAPS X0, X3
	MOVAPS X0, X4
	MOVAPS X0, X5
	MOVAPS X0, X6
	MOVAPS X0, X7
	MOVAPS X0, X8
	MOVAPS X0, X9
	MOVAPS X0, X10
	MOVAPS X0, X11
	MOVAPS X0, X12
	MOVAPS X0, X13
	MOVAPS X0, X14
	MOVAPS X0, X15
	JMP    integers

ymm:
	VMOVUPS ·machine+state_junk(SB), Y0
	VMOVAPS Y0, Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y0, Y3
	VMOVAPS Y0, Y4
	VMOVAPS Y0, Y5
	VMOVAPS Y0, Y6
	VMOVAPS Y0, Y7
	VMOVAPS Y0, Y8
	VMOVAPS Y0, Y9
	VMOVAPS Y0, Y10
	VMOVAPS Y0, Y11
	VMOVAPS Y0, Y12
	VMOVAPS Y0, Y13
	VMOVAPS Y0, Y14
	VMOVAPS Y0, Y15
	JMP     integers

zmm:
	VMOVUPS ·machine+state_junk(SB), Z0
	VMOVAPS Z0, Z1
	VMOVAPS Z0, Z2
	VMOVAPS Z0, Z3
	VMOVAPS Z0, Z4
	VMOVAPS Z0, Z5
	VMOVAPS Z0, Z6
	VMOVAPS Z0, Z7
	VMOVAPS Z0, Z8
	VMOVAPS Z0, Z9
	VMOVAPS Z0, Z10
	VMOVAPS Z0, Z11
	VMOVAPS Z0, Z12
	VMOVAPS Z0, Z13
	VMOVAPS Z0, Z14
	VMOVAPS Z0, Z15
	VMOVAPS Z0, Z16
	VMOVAPS Z0, Z17
	VMOVAPS Z0, Z18
	VMOVAPS Z0, Z19
	VMOVAPS Z0, Z20
	VMOVAPS Z0, Z21
	VMOVAPS Z0, Z22
	VMOVAPS Z0, Z23
	VMOVAPS Z0, Z24
	VMOVAPS Z0, Z25
	VMOVAPS Z0, Z26
	VMOVAPS Z0, Z27
	VMOVAPS Z0, Z28
	VMOVAPS Z0, Z29
	VMOVAPS Z0, Z30
	VMOVAPS Z0, Z31
	MOVQ    ·machine+state_mask(SB), AX
	KMOVQ   AX, K0
	KMOVQ   AX, K1
	KMOVQ   AX, K2
	KMOVQ   AX, K3
	KMOVQ   AX, K4
	KMOVQ   AX, K5
	KMOVQ   AX, K6
	KMOVQ   AX, K7

integers:
	MOVQ fn+0(FP), AX
	FILL(BX)
	FILL(CX)
	FILL(DX)
	FILL(SI)
	FILL(DI)
	FILL(R8)
	FILL(R9)
	FILL(R10)
	FILL(R11)
	FILL(R12)
	FILL(R13)
	FILL(R14)
	FILL(R15)
	CALL AX

	MOVQ SP, ·machine+state_gotSP(SB)
	MOVQ ·machine+state_sp(SB), CX
	// movq %rcx, %rsp: the assembler would mark a function that sets SP as one
	// that cannot be unwound, and a fault in fn unwinds this one.
	BYTE $0x48; BYTE $0x89; BYTE $0xcc
	MOVQ BP, ·machine+state_gotBP(SB)
	MOVQ ·machine+state_bp(SB), BP
	PUSHFQ
	POPQ AX
	MOVQ AX, ·machine+state_flags(SB)
	CLD
	STMXCSR ·machine+state_gotMXCSR(SB)
	LDMXCSR ·machine+state_mxcsr(SB)

	CMPB ·machine+state_tiles(SB), $0
	JEQ  released
	MOVL $1, CX // what is in use, of what the system has enabled
	CALL ·xgetbv(SB)
	MOVL AX, ·machine+state_tilesInUse(SB)
	LONG $0x4978e2c4; BYTE $0xc0 // tilerelease

released:
	LEAQ ·machine+state_zmm(SB), AX
	CMPB ·machine+state_avx512(SB), $0
	JNE  savezmm
	CMPB ·machine+state_avx(SB), $0
	JEQ  back
	VMOVUPS Y0, (0*64)(AX)
	VMOVUPS Y1, (1*64)(AX)
	VMOVUPS Y2, (2*64)(AX)
	VMOVUPS Y3, (3*64)(AX)
	VMOVUPS Y4, (4*64)(AX)
	VMOVUPS Y5, (5*64)(AX)
	VMOVUPS Y6, (6*64)(AX)
	VMOVUPS Y7, (7*64)(AX)
	VMOVUPS Y8, (8*64)(AX)
	VMOVUPS Y9, (9*64)(AX)
	VMOVUPS Y10, (10*64)(AX)
	VMOVUPS Y11, (11*64)(AX)
	VMOVUPS Y12, (12*64)(AX)
	VMOVUPS Y13, (13*64)(AX)
	VMOVUPS Y14, (14*64)(AX)
	VMOVUPS Y15, (15*64)(AX)
	JMP     clean

savezmm:
	VMOVUPS Z0, (0*64)(AX)
	VMOVUPS Z1, (1*64)(AX)
	VMOVUPS Z2, (2*64)(AX)
	VMOVUPS Z3, (3*64)(AX)
	VMOVUPS Z4, (4*64)(AX)
	VMOVUPS Z5, (5*64)(AX)
	VMOVUPS Z6, (6*64)(AX)
	VMOVUPS Z7, (7*64)(AX)
	VMOVUPS Z8, (8*64)(AX)
	VMOVUPS Z9, (9*64)(AX)
	VMOVUPS Z10, (10*64)(AX)
	VMOVUPS Z11, (11*64)(AX)
	VMOVUPS Z12, (12*64)(AX)
	VMOVUPS Z13, (13*64)(AX)
	VMOVUPS Z14, (14*64)(AX)
	VMOVUPS Z15, (15*64)(AX)

clean:
	VZEROUPPER

back:
	MOVQ SP, SI
	MOVQ f+8(FP), DI
	MOVQ $const_frameWords, CX
	REP; MOVSQ
	RET

// func xgetbv()
//
// It takes CX and gives AX and DX. The emulator of tiles knows it by its name.
TEXT ·xgetbv(SB), NOSPLIT, $0-0
	XGETBV
	RET
