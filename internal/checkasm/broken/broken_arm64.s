//go:build !purego

#include "textflag.h"

#define ARGS \
	MOVD dst_base+0(FP), R0; \
	MOVD dst_len+8(FP), R2;  \
	MOVD x_base+24(FP), R1

// COPY copies R2 elements from R1 to R0, four at a time and then one at a time.
#define COPY \
	SUBS  $4, R2;        \
	BLT   tail;          \
vector:              \
	FMOVQ (R1), F0;      \
	FMOVQ F0, (R0);      \
	ADD   $16, R1;       \
	ADD   $16, R0;       \
	SUBS  $4, R2;        \
	BGE   vector;        \
tail:                \
	ADDS  $4, R2;        \
	BEQ   done;          \
one:                 \
	MOVWU (R1), R3;      \
	MOVW  R3, (R0);      \
	ADD   $4, R1;        \
	ADD   $4, R0;        \
	SUBS  $1, R2;        \
	BNE   one;           \
done:

TEXT ·Right(SB), NOSPLIT, $0-48
	ARGS
	COPY
	RET

TEXT ·OverRead(SB), NOSPLIT, $0-48
	ARGS
	COPY
	FMOVQ (R1), F0
	RET

TEXT ·UnderRead(SB), NOSPLIT, $0-48
	ARGS
	MOVWU -4(R1), R3
	COPY
	RET

TEXT ·OverWrite(SB), NOSPLIT, $0-48
	ARGS
	COPY
	MOVW ZR, (R0)
	RET

TEXT ·UnderWrite(SB), NOSPLIT, $0-48
	ARGS
	MOVW ZR, -4(R0)
	COPY
	RET

TEXT ·WritesInput(SB), NOSPLIT, $0-48
	ARGS
	COPY
	MOVD dst_len+8(FP), R2
	CBZ  R2, none
	MOVW ZR, -4(R1)

none:
	RET

TEXT ·MissedTail(SB), NOSPLIT, $0-48
	ARGS
	AND $~3, R2
	COPY
	RET

TEXT ·LongTail(SB), NOSPLIT, $0-48
	ARGS
	ADD $3, R2
	AND $~3, R2
	COPY
	RET

TEXT ·Stale(SB), NOSPLIT, $0-48
	ARGS
	COPY
	MOVD  dst_len+8(FP), R2
	CBZ   R2, none
	FMOVS -4(R0), F0
	FADDS F9, F0
	FMOVS F0, -4(R0)

none:
	RET

TEXT ·FramePointer(SB), NOSPLIT, $0-48
	ARGS
	COPY
	WORD $0xaa3d03fd // mvn x29, x29: a form that vet does not look for
	RET

TEXT ·StackPointer(SB), NOSPLIT|NOFRAME, $0-48
	ARGS
	COPY
	ADD $16, RSP, R3
	MOVD R3, RSP
	JMP (R30)

TEXT ·CallerStack(SB), NOSPLIT, $0-48
	ARGS
	COPY
	MOVD $dst_base+0(FP), R3
	MOVD ZR, 48(R3)
	RET

TEXT ·Rounding(SB), NOSPLIT, $0-48
	ARGS
	COPY
	MOVD FPCR, R3
	EOR  $(3<<22), R3
	MOVD R3, FPCR
	RET

TEXT ·Platform(SB), NOSPLIT, $0-48
	ARGS
	COPY
	MOVD ZR, R18_PLATFORM
	RET

TEXT ·Temporary(SB), NOSPLIT, $0-48
	ARGS
	COPY
	MOVD ZR, R27
	RET

TEXT ·Goroutine(SB), NOSPLIT, $0-48
	ARGS
	COPY
	MVN g, g
	RET
