package ready

import (
	"os"
	"path/filepath"
	"time"

	"github.com/avoformer/avoformer/internal/regular"
)

// The checksums of a file are compared once for each start of the machine, because a comparison
// reads the whole file, which takes as long as a token of the model. Afterwards a second file next
// to it holds its stamp, which any later change of the file changes.

// checkedExt ends the name of the second file, which exists if the checksums were right.
const checkedExt = ".checked"

// settled is the time for which a file must be unchanged before its stamp is used. The clock of the
// file system is coarse, and a change in the same tick would keep the stamp.
var settled = 2 * time.Second

// isChecked reports whether the checksums of a file have been found right since its last change.
func isChecked(path string, info os.FileInfo) bool {
	stamp, _ := stampOf(info)
	if stamp == "" {
		return false
	}
	data, err := regular.ReadFile(os.DirFS(filepath.Dir(path)), filepath.Base(path)+checkedExt)
	return err == nil && string(data) == stamp
}

// setChecked records that the checksums of a file are right. info was read before the comparison.
func setChecked(path string, info os.FileInfo) {
	stamp, changed := stampOf(info)
	if stamp == "" || time.Since(changed) < settled {
		return
	}
	_ = regular.Create(path+checkedExt, func(f *os.File) error { // in a folder that is not writable, each process compares
		_, err := f.WriteString(stamp)
		return err
	})
}

// Remove removes a file and the file that records its checksums.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	_ = os.Remove(path + checkedExt) // there may be none
	return nil
}
