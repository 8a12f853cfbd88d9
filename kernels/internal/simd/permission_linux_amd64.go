//go:build !purego

package simd

import "syscall"

// askForTiles asks Linux for the state of tiles, for the whole process. Kernels before 5.16, and
// sandboxes, refuse. So does any kernel if a thread has an alternative signal stack that is too
// small for the larger frame; Go's are large enough. Source: Documentation/arch/x86/xstate.rst of
// Linux.
func askForTiles() bool {
	const archPrctl, requestPermission, tileData = 158, 0x1023, 18
	_, _, err := syscall.RawSyscall(archPrctl, requestPermission, tileData, 0)
	return err == 0
}
