//go:build !purego

#include "textflag.h"

#define ARGS \
	MOVQ dst_base+0(FP), DI; \
	MOVQ dst_len+8(FP), CX;  \
	MOVQ x_base+24(FP), SI

// COPY copies CX elements from SI to DI, four at a time and then one at a time.
#define COPY \
	SUBQ   $4, CX;   \
	JLT    tail;     \
vector:          \
	MOVUPS (SI), X0; \
	MOVUPS X0, (DI); \
	ADDQ   $16, SI;  \
	ADDQ   $16, DI;  \
	SUBQ   $4, CX;   \
	JGE    vector;   \
tail:            \
	ADDQ   $4, CX;   \
	JEQ    done;     \
one:             \
	MOVL   (SI), AX; \
	MOVL   AX, (DI); \
	ADDQ   $4, SI;   \
	ADDQ   $4, DI;   \
	DECQ   CX;       \
	JNE    one;      \
done:

TEXT ·Right(SB), NOSPLIT, $0-48
	ARGS
	COPY
	VZEROUPPER
	RET

TEXT ·OverRead(SB), NOSPLIT, $0-48
	ARGS
	COPY
	MOVUPS (SI), X0
	VZEROUPPER
	RET

TEXT ·UnderRead(SB), NOSPLIT, $0-48
	ARGS
	MOVL -4(SI), AX
	COPY
	VZEROUPPER
	RET

TEXT ·OverWrite(SB), NOSPLIT, $0-48
	ARGS
	COPY
	MOVL $0, (DI)
	VZEROUPPER
	RET

TEXT ·UnderWrite(SB), NOSPLIT, $0-48
	ARGS
	MOVL $0, -4(DI)
	COPY
	VZEROUPPER
	RET

TEXT ·WritesInput(SB), NOSPLIT, $0-48
	ARGS
	COPY
	TESTQ SI, SI
	MOVQ dst_len+8(FP), CX
	TESTQ CX, CX
	JEQ  none
	MOVL $0, -4(SI)

none:
	VZEROUPPER
	RET

TEXT ·MissedTail(SB), NOSPLIT, $0-48
	ARGS
	ANDQ $~3, CX
	COPY
	VZEROUPPER
	RET

TEXT ·LongTail(SB), NOSPLIT, $0-48
	ARGS
	ADDQ $3, CX
	ANDQ $~3, CX
	COPY
	VZEROUPPER
	RET

TEXT ·Stale(SB), NOSPLIT, $0-48
	ARGS
	COPY
	MOVQ   dst_len+8(FP), CX
	TESTQ  CX, CX
	JEQ    none
	MOVSS  -4(DI), X0
	ADDSS  X9, X0
	MOVSS  X0, -4(DI)

none:
	VZEROUPPER
	RET

TEXT ·FramePointer(SB), NOSPLIT, $0-48
	ARGS
	COPY
	NOTQ BP // a form that vet does not look for
	VZEROUPPER
	RET

TEXT ·StackPointer(SB), NOSPLIT, $0-48
	ARGS
	COPY
	VZEROUPPER
	MOVQ 0(SP), AX
	MOVQ SP, CX
	ADDQ $24, CX
	MOVQ CX, SP
	JMP  AX

TEXT ·CallerStack(SB), NOSPLIT, $0-48
	ARGS
	COPY
	LEAQ dst_base+0(FP), AX
	MOVQ $0, 48(AX)
	VZEROUPPER
	RET

TEXT ·Rounding(SB), NOSPLIT, $8-48
	ARGS
	COPY
	STMXCSR 0(SP)
	XORL    $0x6000, 0(SP)
	LDMXCSR 0(SP)
	VZEROUPPER
	RET

TEXT ·Direction(SB), NOSPLIT, $0-48
	ARGS
	COPY
	VZEROUPPER
	STD
	RET

TEXT ·NoVZEROUPPER(SB), NOSPLIT, $0-48
	ARGS
	COPY
	VZEROUPPER
	VPCMPEQD Y0, Y0, Y0
	RET
