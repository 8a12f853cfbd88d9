//go:build unix && !aix && !solaris && !illumos

package checkasm

import (
	"errors"
	"fmt"
	"syscall"
)

const guarded = true

func newBuffer(size, page int) (*Buffer, error) {
	mem, err := syscall.Mmap(-1, 0, page+size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	if err := errors.Join(syscall.Mprotect(mem[:page], syscall.PROT_NONE), syscall.Mprotect(mem[page+size:], syscall.PROT_NONE)); err != nil {
		return nil, fmt.Errorf("mprotect: %w", errors.Join(err, syscall.Munmap(mem)))
	}
	return &Buffer{data: mem[page : page+size], guard: page, free: func() error { return syscall.Munmap(mem) }}, nil
}
