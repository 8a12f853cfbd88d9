//go:build !purego

#include "textflag.h"
#include "funcdata.h"
#include "go_asm.h"

// func call(fn uintptr, f *frame)
TEXT ·call(SB), 0, $1040-16
	NO_LOCAL_POINTERS
	MOVD f+8(FP), R0
	ADD  $8, RSP, R1
	MOVD $const_frameWords, R2

copyin:
	MOVD.P 8(R0), R3
	MOVD.P R3, 8(R1)
	SUB    $1, R2
	CBNZ   R2, copyin

	MOVD $·machine(SB), R0
	MOVD RSP, R1
	MOVD R1, state_sp(R0)
	MOVD R29, state_fp(R0)
	MOVD g, state_g(R0)
	MOVD FPCR, R1
	MOVD R1, state_fpcr(R0)
	MOVD state_setR18(R0), R1
	CBZ  R1, keep
	MOVD $const_junkWord, R18_PLATFORM

keep:
	MOVD  R18_PLATFORM, state_r18(R0)
	ADD   $state_junk, R0, R1
	FMOVQ (R1), F0
	VMOV V0.B16, V1.B16
	VMOV V0.B16, V2.B16
	VMOV V0.B16, V3.B16
	VMOV V0.B16, V4.B16
	VMOV V0.B16, V5.B16
	VMOV V0.B16, V6.B16
	VMOV V0.B16, V7.B16
	VMOV V0.B16, V8.B16
	VMOV V0.B16, V9.B16
	VMOV V0.B16, V10.B16
	VMOV V0.B16, V11.B16
	VMOV V0.B16, V12.B16
	VMOV V0.B16, V13.B16
	VMOV V0.B16, V14.B16
	VMOV V0.B16, V15.B16
	VMOV V0.B16, V16.B16
	VMOV V0.B16, V17.B16
	VMOV V0.B16, V18.B16
	VMOV V0.B16, V19.B16
	VMOV V0.B16, V20.B16
	VMOV V0.B16, V21.B16
	VMOV V0.B16, V22.B16
	VMOV V0.B16, V23.B16
	VMOV V0.B16, V24.B16
	VMOV V0.B16, V25.B16
	VMOV V0.B16, V26.B16
	VMOV V0.B16, V27.B16
	VMOV V0.B16, V28.B16
	VMOV V0.B16, V29.B16
	VMOV V0.B16, V30.B16
	VMOV V0.B16, V31.B16

	MOVD fn+0(FP), R16
	MOVD $const_junkWord, R27
	MOVD R27, R0
	MOVD R27, R1
	MOVD R27, R2
	MOVD R27, R3
	MOVD R27, R4
	MOVD R27, R5
	MOVD R27, R6
	MOVD R27, R7
	MOVD R27, R8
	MOVD R27, R9
	MOVD R27, R10
	MOVD R27, R11
	MOVD R27, R12
	MOVD R27, R13
	MOVD R27, R14
	MOVD R27, R15
	MOVD R27, R17
	MOVD R27, R19
	MOVD R27, R20
	MOVD R27, R21
	MOVD R27, R22
	MOVD R27, R23
	MOVD R27, R24
	MOVD R27, R25
	MOVD R27, R26
	CALL (R16)

	// Before anything for which the assembler itself needs R27.
	MOVD R27, R1
	MOVD g, R2
	MOVD $·machine(SB), R0
	MOVD R1, state_gotR27(R0)
	MOVD R2, state_gotG(R0)
	MOVD state_g(R0), g
	MOVD RSP, R1
	MOVD R1, state_gotSP(R0)
	MOVD state_sp(R0), R1
	// mov sp, x1: the assembler would mark a function that sets RSP as one that
	// cannot be unwound, and a fault in fn unwinds this one.
	WORD $0x9100003f
	MOVD R29, state_gotFP(R0)
	MOVD state_fp(R0), R29
	MOVD R18_PLATFORM, state_gotR18(R0)
	MOVD FPCR, R1
	MOVD R1, state_gotFPCR(R0)
	MOVD state_fpcr(R0), R1
	MOVD R1, FPCR

	ADD  $8, RSP, R0
	MOVD f+8(FP), R1
	MOVD $const_frameWords, R2

copyout:
	MOVD.P 8(R0), R3
	MOVD.P R3, 8(R1)
	SUB    $1, R2
	CBNZ   R2, copyout
	RET
