//go:build unix

package checkasm

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const guarded = true

func newBuffer(size, page int) (*Buffer, error) {
	mem, err := unix.Mmap(-1, 0, page+size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	if err := errors.Join(unix.Mprotect(mem[:page], unix.PROT_NONE), unix.Mprotect(mem[page+size:], unix.PROT_NONE)); err != nil {
		return nil, fmt.Errorf("mprotect: %w", errors.Join(err, unix.Munmap(mem)))
	}
	return &Buffer{data: mem[page : page+size], guard: page, free: func() error { return unix.Munmap(mem) }}, nil
}
