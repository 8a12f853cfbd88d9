// Package regular opens only regular files, and only if they were downloaded. Folders of models are
// not trusted: opening a pipe waits for a writer, and a device such as /dev/zero never ends.
package regular

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// These are the errors for paths that do not lead to files that can be read as a whole.
var (
	ErrKind = errors.New("not a regular file")
	ErrSize = errors.New("too long to be read whole")
)

// ErrPointer is the error for a file that Git LFS left in place of one that was not downloaded.
var ErrPointer = errors.New("it is a pointer of Git LFS: the file itself was not downloaded (git lfs pull does that)")

// pointer is the beginning of such a pointer, which is shorter than longestPointer.
const (
	pointer        = "version https://git-lfs.github.com/spec/"
	longestPointer = 1 << 10
)

// most is the largest number of bytes of a file that is read whole. The longest tokenizer.json
// files on the hub have some tens of millions of bytes.
const most = 1 << 29

// ReadFile is fs.ReadFile for regular files of at most 512 MiB. The error for a pointer of Git LFS
// is ErrPointer.
func ReadFile(fsys fs.FS, name string) ([]byte, error) {
	info, err := stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if n := info.Size(); n > most {
		return nil, pathError(name, fmt.Errorf("%w: %d bytes, want at most %d", ErrSize, n, most))
	}
	text, err := fs.ReadFile(fsys, name)
	if err == nil && bytes.HasPrefix(text, []byte(pointer)) {
		return nil, pathError(name, ErrPointer)
	}
	return text, err
}

// OpenFS is fsys.Open for regular files. The error for a pointer of Git LFS is ErrPointer.
func OpenFS(fsys fs.FS, name string) (fs.File, error) {
	info, err := stat(fsys, name)
	if err == nil && info.Size() < longestPointer {
		_, err = ReadFile(fsys, name)
	}
	if err != nil {
		return nil, err
	}
	return fsys.Open(name)
}

// Open is os.Open for regular files. The error for a pointer of Git LFS is ErrPointer.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err = check(path, info, err); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var start [len(pointer)]byte
	if n, _ := f.ReadAt(start[:], 0); string(start[:n]) == pointer {
		f.Close()
		return nil, pathError(path, ErrPointer)
	}
	return f, nil
}

// stat is fs.Stat for a regular file.
func stat(fsys fs.FS, name string) (fs.FileInfo, error) {
	info, err := fs.Stat(fsys, name)
	return info, check(name, info, err)
}

// check returns err, the error of Stat, or an error if the file is not a regular file.
func check(name string, info fs.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		return pathError(name, fmt.Errorf("%w but %s", ErrKind, info.Mode()))
	}
	return err
}

func pathError(name string, err error) error {
	return &fs.PathError{Op: "open", Path: name, Err: err}
}
