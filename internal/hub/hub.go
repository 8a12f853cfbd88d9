// Package hub knows how the Hugging Face hub's cache lies on a disk.
package hub

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/avoformer/avoformer/internal/regular"
)

// Folder returns the folder that holds a model's files: dir itself or, where dir is the
// model's folder in the hub's cache, the snapshot that refs/main names.
func Folder(dir string) string {
	ref, err := regular.ReadFile(os.DirFS(dir), "refs/main")
	if err != nil {
		return dir
	}
	return filepath.Join(dir, "snapshots", filepath.Base(strings.TrimSpace(string(ref))))
}
