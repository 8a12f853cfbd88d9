package models

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/transformer"
)

// Packed weights that the next process maps.

// ready returns where the packed weights of a model with these files are kept, nil if nowhere.
func (o Options) ready(files []fs.FileInfo) (*transformer.Ready, error) {
	if o.Ready == "" || o.HeadersOnly || files == nil {
		return nil, nil
	}
	var source strings.Builder
	if !stamp(&source, files) {
		return nil, nil
	}
	for _, a := range o.Adapters {
		fmt.Fprintf(&source, "adapter %v %q\n", a.Scale, a.Name)
		root, err := filepath.EvalSymlinks(hub.Folder(a.Path))
		if err != nil {
			return nil, err
		}
		err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			files, err := stats(path)
			stamp(&source, files)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	path, err := filepath.Abs(o.path)
	if err != nil {
		path = o.path
	}
	note := fmt.Sprintf("%s%s\nweights %v\n%s", modelNote, path, o.WeightFormat, source.String())
	return &transformer.Ready{Dir: o.Ready, Source: source.String(), Note: note, Copied: o.ReadyCopy}, nil
}

// ReadyFile is a file with packed weights.
type ReadyFile struct {
	Path  string
	Bytes int64
	Model string // the path that the model had
	About string // the format of its weights, and names, sizes and times of its files
}

// ReadyFiles lists the files with packed weights in a folder, those too that are damaged or were
// not finished. It leaves out other files.
func ReadyFiles(dir string) (files []ReadyFile, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !strings.Contains(e.Name(), transformer.ReadyExt) { // one that was interrupted has more behind
			continue
		}
		note, err := transformer.ReadyNote(path)
		if err != nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		model, about, _ := strings.Cut(strings.TrimPrefix(note, modelNote), "\n")
		files = append(files, ReadyFile{path, info.Size(), model, about})
	}
	return files, nil
}

const modelNote = "model " // begins a note

// stamp writes names, sizes and times. It returns false if a file has no time.
func stamp(b *strings.Builder, files []fs.FileInfo) bool {
	for _, f := range files {
		if f.ModTime().IsZero() {
			return false
		}
		if f.Mode().IsRegular() {
			fmt.Fprintf(b, "%q %d %d\n", f.Name(), f.Size(), f.ModTime().UnixNano())
		}
	}
	return true
}

// stats is os.Stat of several files.
func stats(paths ...string) (files []fs.FileInfo, err error) {
	for _, path := range paths {
		f, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}
