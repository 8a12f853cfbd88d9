//go:build unix

package ready

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file, read only.
func mapFile(f *os.File, size int) ([]byte, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOSYS) {
		return nil, errors.ErrUnsupported // this file system cannot map files
	}
	return data, err
}

func unmap(data []byte) { _ = unix.Munmap(data) }
