// Package modelfiles lists the files that a model is read from, and computes their digests.
package modelfiles

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/hub"
	"github.com/avoformer/avoformer/internal/check"
	cache "github.com/avoformer/avoformer/internal/hub"
)

// A File is a file that opening a model or an adapter reads.
type File struct {
	Name string      // in its folder, with slashes; names of the first adapter's files begin with "adapter 1/"
	Info fs.FileInfo // as it was when the file was listed
	fsys fs.FS
	path string
}

// List lists the files that opening dir as a model reads, and those that opening the adapters
// reads. dir is a folder or a GGUF file.
func List(dir string, adapters ...string) ([]File, error) {
	files, err := at(dir, Folder)
	if err != nil {
		return nil, err
	}
	more, err := Adapters(adapters...)
	return append(files, more...), err
}

// Adapters lists the files that opening folders or GGUF files as adapters reads. Their names begin
// with "adapter 1/" for the first, and so on.
func Adapters(dirs ...string) (files []File, err error) {
	for i, dir := range dirs {
		more, err := at(dir, adapter)
		if err != nil {
			return nil, err
		}
		files = append(files, Under(fmt.Sprintf("adapter %d", i+1), more)...)
	}
	return files, nil
}

// Under puts the name of a folder before the names of files.
func Under(folder string, files []File) []File {
	for i := range files {
		files[i].Name = folder + "/" + files[i].Name
	}
	return files
}

// at lists the files of dir: for a folder it calls list; for a GGUF file it lists the parts.
func at(dir string, list func(fs.FS) ([]File, error)) ([]File, error) {
	dir = cache.Folder(dir)
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return list(os.DirFS(dir))
	}
	return Parts(dir)
}

// Folder lists the files that opening a folder as a model reads.
func Folder(fsys fs.FS) ([]File, error) {
	names, err := fs.Glob(fsys, "*")
	inner, innerErr := fs.Glob(fsys, "*/*")
	adapters, adaptersErr := fs.Glob(fsys, "adapters/*/*")
	if err := cmp.Or(err, innerErr, adaptersErr); err != nil {
		return nil, err
	}
	return regularFiles(fsys, hub.Needed(slices.Concat(names, inner, adapters)))
}

// adapter lists the files that opening a folder as an adapter reads.
func adapter(fsys fs.FS) ([]File, error) {
	names, err := fs.Glob(fsys, "adapter_*")
	if err != nil {
		return nil, err
	}
	return regularFiles(fsys, names)
}

// Parts lists the GGUF file at path, or its parts.
func Parts(path string) (files []File, err error) {
	for _, part := range cache.Parts(path) {
		more, err := regularFiles(os.DirFS(filepath.Dir(part)), []string{filepath.Base(part)})
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// Projector returns the path of the file with the encoder of images for the GGUF file at path:
// given, unless it is empty; else the only file of the same folder whose name has mmproj in it, as
// llama.cpp's users name them. If there is none, or several, the error matches fault.ErrOption.
func Projector(path, given string) (string, error) {
	const option = "Projector"
	if given != "" {
		return cache.Folder(given), nil
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if name := strings.ToLower(e.Name()); strings.Contains(name, "mmproj") && strings.HasSuffix(name, ".gguf") && e.Name() != filepath.Base(path) {
			found = append(found, e.Name())
		}
	}
	switch len(found) {
	case 0:
		return "", check.Option(option, "", "no file next to %s has mmproj in its name: want the file with the encoder of images", filepath.Base(path))
	case 1:
		return filepath.Join(filepath.Dir(path), found[0]), nil
	}
	return "", check.Option(option, "", "several files next to %s have mmproj in their names: want one of %q", filepath.Base(path), found)
}

// regularFiles returns those of the named files that are regular files. Like the code that opens
// models, it ignores a link to nothing.
func regularFiles(fsys fs.FS, names []string) (files []File, err error) {
	for _, name := range names {
		info, err := fs.Stat(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			files = append(files, File{name, info, fsys, name})
		}
	}
	return files, nil
}

// Size returns the number of bytes of files.
func Size(files []File) (n int64) {
	for _, f := range files {
		n += f.Info.Size()
	}
	return n
}
