package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/hub"
)

// This file lists the models in the cache, and removes models from it.

// Cached is a model in the cache.
type Cached struct {
	Name      string   // org/name, as Pull accepts it
	Revisions []string // branches and tags that were pulled completely, sorted
	Folder    string   // of the revision main, or else of the first one; empty if none was pulled completely
	Files     []string // in Folder, with slashes, sorted
	Bytes     int64    // on the disk, of all revisions together
}

// List returns the models in the cache, sorted by name. It ignores everything else, such as data
// sets.
func List(o Options) ([]Cached, error) {
	p := puller{Options: o}
	if err := p.settle(); err != nil {
		return nil, err
	}
	names, err := hub.Models(p.Cache)
	if err != nil {
		return nil, err
	}
	list := make([]Cached, len(names))
	for i, name := range names {
		if list[i], err = cached(hub.Repository(p.Cache, name), name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// cached describes the model whose folder in the cache is repo.
func cached(repo, name string) (Cached, error) {
	c := Cached{Name: name}
	err := walk(filepath.Join(repo, "refs"), func(path string, _ fs.FileInfo) { c.Revisions = append(c.Revisions, path) })
	if err != nil {
		return c, err
	}
	slices.Sort(c.Revisions)
	p := puller{repo: repo}
	for _, p.name.Revision = range append([]string{"main"}, c.Revisions...) {
		if dir, err := p.cached(); err == nil {
			c.Folder = dir
			break
		}
	}
	if c.Folder != "" {
		if err := walk(c.Folder, func(path string, _ fs.FileInfo) { c.Files = append(c.Files, path) }); err != nil {
			return c, err
		}
	}
	// Files of a snapshot are links to blobs, or regular files where links cannot be created.
	return c, walk(repo, func(_ string, info fs.FileInfo) {
		if info.Mode().IsRegular() {
			c.Bytes += info.Size()
		}
	})
}

// walk calls do for all files below a folder, in order, with their paths relative to it. It treats
// a missing folder as empty.
func walk(dir string, do func(path string, info fs.FileInfo)) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil {
			do(filepath.ToSlash(rel), info)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) { // also for files that disappear during the walk
		return nil
	}
	return err
}

// Remove removes all revisions of a model, [hf://]org/name, from the cache, and returns the number
// of bytes that they occupied. The cache has either the whole model or nothing of it, even if the
// removal is interrupted. The error is fault.ErrName for a name with a file or a revision, and
// fault.ErrNoModel if the cache does not have the model.
func Remove(name string, o Options) (int64, error) {
	n, err := ParseName(name)
	if err != nil {
		return 0, err
	}
	if n.File != "" || n.Revision != "" {
		return 0, fmt.Errorf("%w: %q: only a whole model can be removed, want [hf://]org/name", fault.ErrName, name)
	}
	p := puller{Options: o, name: n}
	if err := p.settle(); err != nil {
		return 0, err
	}
	c, err := cached(p.repo, n.Repository)
	if err != nil {
		return 0, err
	}
	gone := filepath.Join(p.Cache, ".removed--"+strings.ReplaceAll(n.Repository, "/", "--"))
	if err := os.RemoveAll(gone); err != nil { // what an interruption left
		return 0, err
	}
	if err := os.Rename(p.repo, gone); errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: the cache has no %s under %s", fault.ErrNoModel, n, p.Cache)
	} else if err != nil {
		return 0, err
	}
	return c.Bytes, errors.Join(os.RemoveAll(gone), os.RemoveAll(filepath.Join(p.Cache, ".locks", filepath.Base(p.repo))))
}
