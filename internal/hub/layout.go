package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Cache returns the folder of the hub's cache: HF_HUB_CACHE, the folder hub in HF_HOME, or the
// default of huggingface_hub.
func Cache() (string, error) {
	if dir := os.Getenv("HF_HUB_CACHE"); dir != "" {
		return dir, nil
	}
	home, err := Home()
	return filepath.Join(home, "hub"), err
}

// Home returns the folder in which Hugging Face's tools keep their files: HF_HOME, or the folder
// huggingface in XDG_CACHE_HOME or else in .cache of the user's home.
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

// Repository returns the folder of a model in a cache.
func Repository(cache, name string) string {
	return filepath.Join(cache, "models--"+strings.ReplaceAll(name, "/", "--"))
}

// NameOf returns the name of the model whose folder in a cache a path is or is in: "org/name" for
// .../models--org--name, its snapshots and files in these. It returns "" for other paths.
func NameOf(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	for i := len(parts) - 1; i >= 0; i-- {
		name, ok := strings.CutPrefix(parts[i], "models--")
		if ok && name != "" && (i == len(parts)-1 || parts[i+1] == "snapshots") {
			return strings.ReplaceAll(name, "--", "/")
		}
	}
	return ""
}

// split matches the name of a part of a GGUF file: its number, counted from 1, and the number of
// parts.
var split = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*)-([0-9]{5})-of-([0-9]{5})\.gguf$`) })

// Parts returns the paths of all parts of a split GGUF file if path is one of them:
// x-00001-of-00002.gguf and x-00002-of-00002.gguf. For any other file it returns only path.
func Parts(path string) []string {
	m := split().FindStringSubmatch(path)
	if m == nil {
		return []string{path}
	}
	number, _ := strconv.Atoi(m[2])
	count, _ := strconv.Atoi(m[3])
	if number < 1 || number > count {
		return []string{path}
	}
	parts := make([]string, count)
	for i := range parts {
		parts[i] = fmt.Sprintf("%s-%05d-of-%05d.gguf", m[1], i+1, count)
	}
	return parts
}
