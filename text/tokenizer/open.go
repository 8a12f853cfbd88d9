package tokenizer

// Folders in the form of the hub.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Open reads the tokenizer of a folder: tokenizer.json, or the files of before it.
func Open(dir string) (*Tokenizer, error) {
	t, err := OpenFS(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return t, nil
}

// OpenFS is [Open] for a file system.
func OpenFS(fsys fs.FS) (*Tokenizer, error) {
	data, err := fs.ReadFile(fsys, "tokenizer.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no tokenizer: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return Parse(data)
}
