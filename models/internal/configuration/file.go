package configuration

import (
	"io/fs"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/regular"
)

// Files of JSON in a folder.

// ReadJSON reads the object in a file. If there is no file, the error matches fs.ErrNotExist.
func ReadJSON(fsys fs.FS, name string) (Document, error) {
	text, err := ReadFile(fsys, name)
	if err != nil {
		return Document{Name: name}, err
	}
	return Parse(name, text)
}

// ReadFile reads a file of the folder.
func ReadFile(fsys fs.FS, name string) ([]byte, error) {
	text, err := regular.ReadFile(fsys, name)
	if err != nil {
		return nil, check.InFile(name, fault.ErrFolder, err)
	}
	return text, nil
}

func Exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}
