// Names on the disk.

package bulk

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// syncFolder brings names that were given or taken to the disk, where systems and file systems
// offer that.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
