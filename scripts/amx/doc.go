// Command amx runs a program on a processor without AMX as if it had AMX-TILE, AMX-INT8 and
// AMX-BF16:
//
//	go build -o /tmp/amx ./scripts/amx
//	go test -exec /tmp/amx ./kernels/internal/simd
//
// It runs on Linux on amd64. The program runs at full speed until an instruction of AMX is illegal.
// Then the program stops, package tile executes the instruction on the tiles of the thread, and the
// program continues. The command finds the program's cpuid and xgetbv functions by their names, and
// makes them report the features. It answers the system call that asks for permission to use tiles;
// with -refuse the call fails. Before the call, tiles are not available, as on Linux.
//
// If a processor would refuse an instruction, or if an instruction touches memory that it must not,
// the program gets a signal, and the command prints a line with the reason. -count prints at the
// end how many times each instruction ran, and -need fails if one of the named instructions did not
// run.
//
// With -bf16 the program sees AVX512_BF16 instead of AMX, and the command executes VDPBF16PS. The
// processor, or its emulator, must have AVX-512 without that extension, because the program does
// not stop at an instruction that the processor has.
//
// main.go has the flags, tracee.go follows the threads of a program, emulate.go executes the
// instructions of stopped threads, and vectors.go executes VDPBF16PS.
package main
