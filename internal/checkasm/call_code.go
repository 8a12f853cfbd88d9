//go:build !purego && (amd64 || arm64)

package checkasm

import "unsafe"

// code returns the machine code at pc, n bytes of it.
func code(pc uintptr, n int) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&pc))), n)
}
