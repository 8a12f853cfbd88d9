package checkasm

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

const guarded = true

func newBuffer(size, page int) (*Buffer, error) {
	base, err := windows.VirtualAlloc(0, uintptr(page+size+page), windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, fmt.Errorf("VirtualAlloc: %w", err)
	}
	free := func() error { return windows.VirtualFree(base, 0, windows.MEM_RELEASE) }
	var old uint32
	if err := errors.Join(
		windows.VirtualProtect(base, uintptr(page), windows.PAGE_NOACCESS, &old),
		windows.VirtualProtect(base+uintptr(page+size), uintptr(page), windows.PAGE_NOACCESS, &old),
	); err != nil {
		return nil, fmt.Errorf("VirtualProtect: %w", errors.Join(err, free()))
	}
	// The memory is not Go's, so its address may become a pointer. The conversion goes through a
	// pointer to the address, because vet cannot know that.
	mem := *(*unsafe.Pointer)(unsafe.Pointer(&base))
	return &Buffer{data: unsafe.Slice((*byte)(unsafe.Add(mem, page)), size), guard: page, free: free}, nil
}
