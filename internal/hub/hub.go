// Package hub knows the layout of the Hugging Face hub's cache on disk.
package hub

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/avoformer/avoformer/internal/regular"
)

// Folder returns the folder that holds a model's files: dir itself or, where dir is the model's
// folder in the hub's cache, the snapshot that refs/main names.
func Folder(dir string) string {
	ref, err := regular.ReadFile(os.DirFS(dir), "refs/main")
	if err != nil {
		return dir
	}
	return filepath.Join(dir, "snapshots", filepath.Base(strings.TrimSpace(string(ref))))
}

// Find returns the path of a model's files, which is a folder or a GGUF file: dir itself, or the
// snapshot that [Folder] returns. Its errors are those of [Stat].
func Find(dir string) (path string, folder bool, err error) {
	path = Folder(dir)
	info, err := Stat(path)
	return path, err == nil && info.IsDir(), err
}
