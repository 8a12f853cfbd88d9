package models

import (
	"io/fs"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/regular"
)

// Files of JSON in a folder.

// readJSON reads the object in a file, fs.ErrNotExist if there is none.
func readJSON(fsys fs.FS, name string) (Document, error) {
	text, err := readFile(fsys, name)
	if err != nil {
		return Document{Name: name}, err
	}
	return parse(name, text)
}

// readFile reads a file of the folder.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	text, err := regular.ReadFile(fsys, name)
	if err != nil {
		return nil, check.InFile(name, ErrFolder, err)
	}
	return text, nil
}

func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}
