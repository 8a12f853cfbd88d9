// Package regular opens only regular files. Folders of models are not trusted: opening a pipe
// waits for a writer, and a device such as /dev/zero never ends.
package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// The errors for paths that are not files to be read as a whole.
var (
	ErrKind = errors.New("not a regular file")
	ErrSize = errors.New("too long to be read whole")
)

// most is the number of bytes of the longest file that is read whole. The longest tokenizer.json
// of the hub have some tens of millions.
const most = 1 << 29

// ReadFile is fs.ReadFile for regular files that are not too long.
func ReadFile(fsys fs.FS, name string) ([]byte, error) {
	info, err := stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if n := info.Size(); n > most {
		return nil, pathError(name, fmt.Errorf("%w: %d bytes, want at most %d", ErrSize, n, most))
	}
	return fs.ReadFile(fsys, name)
}

// OpenFS is fsys.Open for regular files.
func OpenFS(fsys fs.FS, name string) (fs.File, error) {
	if _, err := stat(fsys, name); err != nil {
		return nil, err
	}
	return fsys.Open(name)
}

// Open is os.Open for regular files.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err = check(path, info, err); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// stat is fs.Stat of a regular file.
func stat(fsys fs.FS, name string) (fs.FileInfo, error) {
	info, err := fs.Stat(fsys, name)
	return info, check(name, info, err)
}

// check returns the error of Stat, or an error if the file is not a regular file.
func check(name string, info fs.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		return pathError(name, fmt.Errorf("%w but %s", ErrKind, info.Mode()))
	}
	return err
}

func pathError(name string, err error) error {
	return &fs.PathError{Op: "open", Path: name, Err: err}
}
