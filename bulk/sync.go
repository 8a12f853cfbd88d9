// This file writes names of files to the disk.

package bulk

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// syncFolder writes new and removed names of a folder to the disk, if the system and the file
// system support that.
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
