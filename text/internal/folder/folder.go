// Package folder reads what pipelines are opened from: a model folder, its snapshot in the hub's
// cache, or a GGUF file in place of a folder.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// FS returns the file system of a folder, or of the snapshot that refs/main of a folder in the
// hub's cache names. That of a GGUF file is a [GGUF].
func FS(dir string) (fs.FS, error) {
	path, folder, err := hub.Find(dir)
	switch {
	case err != nil:
		return nil, Errorf("%w", err)
	case folder:
		return os.DirFS(path), nil
	case strings.HasSuffix(path, ".gguf") || gguf.Is(path): // the former may be a pointer
		return GGUF{path}, nil
	}
	return nil, Errorf("%s is not a folder", path)
}

// GGUF is a GGUF file in place of a folder: no other files belong to it.
type GGUF struct{ Path string }

// Open finds no file.
func (g GGUF) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Tokenizer opens the tokenizer of a folder or a GGUF file.
func Tokenizer(fsys fs.FS, how tokenizer.Opening) (*tokenizer.Tokenizer, error) {
	g, ok := fsys.(GGUF)
	if !ok {
		dir, err := models.TokenizerFolder(fsys)
		if err == nil {
			fsys, err = fs.Sub(fsys, dir)
		}
		if err != nil {
			return nil, err
		}
		return how.OpenFS(fsys)
	}
	return how.Open(g.Path)
}

// Model opens the model of a folder or a GGUF file.
func Model(fsys fs.FS, o models.Options) (*models.Model, error) {
	if g, ok := fsys.(GGUF); ok {
		return models.Open(g.Path, o)
	}
	return models.OpenFS(fsys, o)
}

// ReadJSON fills into from a file, if there is one.
func ReadJSON(fsys fs.FS, name string, into any) error {
	data, err := regular.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return check.InFile(name, fault.ErrFolder, err)
	}
	if err := pyjson.Unmarshal(data, into); err != nil {
		return JSONError(name, err)
	}
	return nil
}

// Errorf returns an error about a folder.
func Errorf(format string, args ...any) error {
	return check.Errorf(fault.ErrFolder, format, args...)
}

// FileError returns an error about a field of a file, or about the file itself without a field.
func FileError(file, field, value, format string, args ...any) error {
	return &fault.Error{Kind: fault.ErrConfig, File: file, Field: field, Value: check.Short(value), Err: fmt.Errorf(format, args...)}
}

// JSONError returns an error of reading a file of JSON.
func JSONError(file string, err error) error {
	var wrong *pyjson.TypeError
	if errors.As(err, &wrong) {
		return FileError(file, wrong.Path, wrong.Have, "want %v", wrong.Want)
	}
	return FileError(file, "", "", "%w", err)
}
