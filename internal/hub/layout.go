package hub

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Cache is the folder of the hub's cache: HF_HUB_CACHE, hub in HF_HOME, or the place that
// huggingface_hub takes.
func Cache() (string, error) {
	if dir := os.Getenv("HF_HUB_CACHE"); dir != "" {
		return dir, nil
	}
	home, err := Home()
	return filepath.Join(home, "hub"), err
}

// Home is the folder of what Hugging Face's tools keep: HF_HOME, or huggingface in
// XDG_CACHE_HOME, or in .cache of the user's folder.
func Home() (string, error) {
	if dir := os.Getenv("HF_HOME"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "huggingface"), nil
	}
	dir, err := os.UserHomeDir()
	return filepath.Join(dir, ".cache", "huggingface"), err
}

// Repository is the folder of a model in a cache.
func Repository(cache, name string) string {
	return filepath.Join(cache, "models--"+strings.ReplaceAll(name, "/", "--"))
}

// pointer begins a file that stands for another one in Git LFS.
const pointer = "version https://git-lfs.github.com/spec/"

// ErrPointer is the error of opening such a file.
var ErrPointer = errors.New("it is a pointer of Git LFS: the file itself was not downloaded (git lfs pull does that)")

// IsPointer reports whether a file is what Git LFS leaves in place of a file that was not
// downloaded.
func IsPointer(r io.ReaderAt) bool {
	var start [len(pointer)]byte
	n, _ := r.ReadAt(start[:], 0)
	return string(start[:n]) == pointer
}
