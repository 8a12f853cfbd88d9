//go:build linux && amd64

// Package native executes instructions of AMX on the processor, or in the runner that package main
// is.
package native

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// Has reports whether there are tiles, and products of int8 and bfloat16.
func Has() bool { return cpu.X86.HasAMXTile && cpu.X86.HasAMXInt8 && cpu.X86.HasAMXBF16 }

// Permit asks Linux for the state of tiles, for this process.
func Permit() error {
	const requestPermission, tileData = 0x1023, 18
	if _, _, err := unix.RawSyscall(unix.SYS_ARCH_PRCTL, requestPermission, tileData, 0); err != 0 {
		return fmt.Errorf("arch_prctl(ARCH_REQ_XCOMP_PERM): %w", err)
	}
	return nil
}

// Code is memory for instructions.
type Code []byte

// New has room for a page of them.
func New() (Code, error) {
	return unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
}

// Close frees the memory.
func (c Code) Close() error { return unix.Munmap(c) }

// Run executes instructions with these registers, by their numbers; it sets all but R15, the stack
// and the frame pointer. Tiles stay as the instructions leave them, on the thread.
func (c Code) Run(instructions []byte, registers *[16]uint64) {
	n := copy(c, instructions)
	c[n] = 0xc3 // RET
	run(unsafe.Pointer(unsafe.SliceData(c)), registers)
}

//go:noescape
func run(code unsafe.Pointer, registers *[16]uint64)

// InUse reports whether the thread's tiles are configured, by XGETBV with ECX = 1.
func InUse() bool { return xgetbv(1)>>17&3 != 0 }

func xgetbv(of uint32) uint64
