// Command amx runs a program on a processor without AMX as if it had AMX-TILE, AMX-INT8 and
// AMX-BF16:
//
//	go build -o /tmp/amx ./scripts/amx
//	go test -exec /tmp/amx ./kernels/internal/simd
//
// It runs on Linux on amd64. The program runs at full speed until an instruction of AMX is illegal.
// Then it stops, package tile executes the instruction on the tiles of the thread, and the program
// continues. The command finds the program's cpuid and xgetbv functions by their names and lets
// them see the features. It answers the system call that asks for tiles; with -refuse the call
// fails. Before the call, tiles are not available, as on Linux.
//
// An instruction that a processor would refuse, or one that touches memory which it may not, is a
// signal to the program, with a line that says why. -count prints at the end how often each
// instruction ran, and -need fails if one of those named did not run.
//
// With -bf16 the program sees AVX512_BF16 instead of AMX, and the command executes VDPBF16PS. The
// processor, or its emulator, must have AVX-512 without that extension: an instruction that the
// processor has does not stop.
//
// main.go has the flags, tracee.go follows the threads of a program, emulate.go executes the
// instructions of stopped threads, and vectors.go executes VDPBF16PS.
package main
