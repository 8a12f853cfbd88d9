// This file has the errors for folders that do not exist.

package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/near"
)

// Models returns the models in a cache, sorted by their names. Without a cache, it returns no
// models.
func Models(cache string) ([]string, error) {
	entries, err := os.ReadDir(cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Name(), "models--"); ok && e.IsDir() {
			names = append(names, strings.ReplaceAll(name, "--", "/"))
		}
	}
	slices.Sort(names)
	return names, err
}

// Stat describes the folder or the GGUF file of a model at a path. If neither exists, the error
// matches fs.ErrNotExist and says how to get the model from the hub, and which models in the cache
// have a similar name.
func Stat(dir string) (fs.FileInfo, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing{dir}
	}
	return info, err
}

// missing is the error for a model that does not exist.
type missing struct{ path string }

func (missing) Unwrap() error { return fs.ErrNotExist }

func (m missing) Error() string {
	const scheme = "hf://"
	if strings.HasPrefix(m.path, scheme) {
		return fmt.Sprintf("%s: no such folder or file: only the command takes names with %s; in Go, hub.Pull downloads the model and returns its folder", m.path, scheme)
	}
	said := m.path + ": no such folder or file"
	if cached := like(m.path); len(cached) > 0 {
		return fmt.Sprintf("%s; the cache has %s: the command takes %s%s, and hub.Pull in Go returns the folder", said, strings.Join(cached, ", "), scheme, cached[0])
	}
	name := "org/name"
	if parts := strings.Split(m.path, "/"); len(parts) == 2 && parts[0] != "" && parts[1] != "" && !strings.HasPrefix(m.path, ".") {
		name = m.path
	}
	return fmt.Sprintf("%s; to download a model of the hub, use avoformer pull %s or hub.Pull in Go, or give the command %s%s", said, name, scheme, name)
}

// like returns up to three models in the cache, or GGUF files of them, whose names are close to the
// last part of a path, the closest first.
func like(wanted string) []string {
	cache, err := Cache()
	if err != nil {
		return nil
	}
	models, err := Models(cache)
	if err != nil {
		return nil
	}
	word := strings.ToLower(path.Base(filepath.ToSlash(wanted)))
	type found struct {
		name string
		far  int
	}
	var all []found
	add := func(name string) {
		base := strings.ToLower(path.Base(name))
		far := near.Distance(word, base)
		if far > 0 && len(word) > 2 && strings.Contains(base, word) {
			far = 1
		}
		if far < min(3, (len(word)+1)/2) {
			all = append(all, found{name, far})
		}
	}
	for _, model := range models {
		dir := Folder(Repository(cache, model))
		if _, err := os.Stat(filepath.Join(dir, "config.json")); err == nil {
			add(model)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*.gguf"))
		for _, f := range files {
			add(model + "/" + filepath.Base(f))
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return a.far - b.far })
	var names []string
	for _, f := range all[:min(3, len(all))] {
		names = append(names, f.name)
	}
	return names
}
