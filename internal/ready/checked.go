package ready

import (
	"os"
	"time"

	"github.com/avoformer/avoformer/internal/regular"
)

// Checksums are compared once for each file and start of the machine: comparing them reads all of a file, which takes as long as a token of the model.
// A file beside it then has the file's stamp, which any later change of the file changes.

// checkedExt ends the name of the file beside a file whose checksums were right.
const checkedExt = ".checked"

// settled is how long a file must be unchanged before its stamp counts: the clock of the file system is coarse, and a change in the same tick
// would keep the stamp.
var settled = 2 * time.Second

// isChecked reports whether the checksums of a file were right since it changed.
func isChecked(path string, info os.FileInfo) bool {
	stamp, _ := stampOf(info)
	if stamp == "" {
		return false
	}
	data, err := os.ReadFile(path + checkedExt)
	return err == nil && string(data) == stamp
}

// setChecked says that the checksums of a file were right. info is from before they were compared.
func setChecked(path string, info os.FileInfo) {
	stamp, changed := stampOf(info)
	if stamp == "" || time.Since(changed) < settled {
		return
	}
	_ = regular.Create(path+checkedExt, func(f *os.File) error { // where nobody can write, each process compares
		_, err := f.WriteString(stamp)
		return err
	})
}

// Remove removes a file and what is beside it.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	_ = os.Remove(path + checkedExt) // there may be none
	return nil
}
