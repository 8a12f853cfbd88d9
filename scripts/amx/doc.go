// Command amx runs a program on a processor without AMX as if it had AMX-TILE, AMX-INT8 and AMX-BF16:
//
//	go build -o /tmp/amx ./scripts/amx
//	go test -exec /tmp/amx ./kernels/internal/simd
//
// It is for Linux on amd64. The program runs at full speed until an instruction of AMX is illegal; then it stops,
// package tile executes the instruction on the tiles of the thread, and it goes on. The program's own cpuid and xgetbv
// functions are found by their names and see the features. The system call that asks for tiles is answered here; with
// -refuse it fails, and before it is made tiles are as good as absent, as Linux has it.
//
// An instruction that a processor would refuse, or one that touches memory which it may not, is a signal to the program, with
// a line that says why. -count tells at the end how often each instruction ran, and -need fails if one of those
// named did not.
//
// With -bf16 the program sees AVX512_BF16 instead of AMX, and VDPBF16PS is executed here. The processor, or its emulator, must have AVX-512
// without that extension: what it has does not stop.
//
// main.go has the flags, tracee.go follows the threads of a program, emulate.go does what a stopped one waits for, and vectors.go does so
// for VDPBF16PS.
package main
