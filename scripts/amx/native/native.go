//go:build linux && amd64

// Package native executes instructions of AMX on the processor, or under command amx, which
// emulates them.
package native

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// Has reports whether the processor has tiles, and products of int8 and bfloat16.
func Has() bool { return cpu.X86.HasAMXTile && cpu.X86.HasAMXInt8 && cpu.X86.HasAMXBF16 }

// Permit asks Linux for permission to use tiles in this process.
func Permit() error {
	const requestPermission, tileData = 0x1023, 18
	if _, _, err := unix.RawSyscall(unix.SYS_ARCH_PRCTL, requestPermission, tileData, 0); err != 0 {
		return fmt.Errorf("arch_prctl(ARCH_REQ_XCOMP_PERM): %w", err)
	}
	return nil
}

// Code is memory for instructions.
type Code []byte

// New returns Code with space for a page of instructions.
func New() (Code, error) {
	return unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
}

// Close frees the memory.
func (c Code) Close() error { return unix.Munmap(c) }

// Run executes instructions with these registers, which are indexed by their numbers. It sets all
// registers except R15, the stack pointer and the frame pointer. The thread's tiles keep their
// state after the instructions.
func (c Code) Run(instructions []byte, registers *[16]uint64) {
	n := copy(c, instructions)
	c[n] = 0xc3 // RET
	run(unsafe.Pointer(unsafe.SliceData(c)), registers)
}

//go:noescape
func run(code unsafe.Pointer, registers *[16]uint64)

// InUse reports whether the thread's tiles are configured. It executes XGETBV with ECX = 1.
func InUse() bool { return xgetbv(1)>>17&3 != 0 }

func xgetbv(of uint32) uint64
