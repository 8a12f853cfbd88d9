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

// Cache returns the folder of the hub's cache: HF_HUB_CACHE, hub in HF_HOME, or the place that
// huggingface_hub takes.
func Cache() (string, error) {
	if dir := os.Getenv("HF_HUB_CACHE"); dir != "" {
		return dir, nil
	}
	home, err := Home()
	return filepath.Join(home, "hub"), err
}

// Home returns the folder of what Hugging Face's tools keep: HF_HOME, or huggingface in
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

// Repository returns the folder of a model in a cache.
func Repository(cache, name string) string {
	return filepath.Join(cache, "models--"+strings.ReplaceAll(name, "/", "--"))
}

// NameOf returns the name of the model that a path in a cache leads into: "org/name" of
// .../models--org--name, of its snapshots and of files in these; "" of other paths.
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

// split is the name of a part of a GGUF file: its number, from 1 on, and how many there are.
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
