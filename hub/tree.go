package hub

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
)

// This file reads and writes the lists of commits' files in the cache.

// A file is a file of a repository, as the hub's API describes it.
type file struct {
	Path string `json:"rfilename"`
	Size int64  `json:"size"`
	Blob string `json:"blobId"` // Git's SHA-1 of the file
	LFS  *large `json:"lfs"`
}

// large is the hub's description of a file in Git LFS.
type large struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// hash returns the hash of the file, which is also the name of its blob: the SHA-256 of a file in
// Git LFS, and Git's SHA-1 of any other file.
func (f *file) hash() string {
	if f.LFS != nil {
		return f.LFS.SHA256
	}
	return f.Blob
}

// largest is the greatest size that a description may state, one pebibyte. No hub has larger files.
const largest = 1 << 50

// check returns an error unless the description is valid.
func (f *file) check() error {
	want := 40
	if f.LFS != nil {
		want, f.Size = 64, f.LFS.Size
	}
	if !isFile(f.Path) || f.Size < 0 || f.Size > largest || len(f.hash()) != want || !isHex(f.hash()) {
		return check.Errorf(fault.ErrServer, "the hub lists an invalid file %q of %d bytes with the hash %q", f.Path, f.Size, f.hash())
	}
	return nil
}

// every reports whether a folder has all the files, with their sizes.
func every(dir string, files []file) bool {
	return !slices.ContainsFunc(files, func(f file) bool {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(f.Path)))
		return err != nil || !info.Mode().IsRegular() || info.Size() != f.Size
	})
}

// A tree is the content of a file trees/COMMIT.json in the cache: the list of all files of a
// commit. huggingface_hub writes this format from version 2 on.
type tree struct {
	Version int              `json:"format_version"`
	Files   map[string]entry `json:"files"`
}

// An entry describes one file of a tree.
type entry struct {
	Size   int64  `json:"size"`
	Blob   string `json:"blob_id"`
	SHA256 string `json:"lfs_sha256,omitempty"`
	LFS    int64  `json:"lfs_size,omitempty"`
}

// treeVersion is the only supported format_version.
const treeVersion = 1

// listed returns the list of a commit's files in a model's folder of the cache, and false if there
// is no valid list of a supported version.
func listed(repo, commit string) ([]file, bool) {
	text, err := regular.ReadFile(os.DirFS(filepath.Join(repo, "trees")), commit+".json")
	if err != nil {
		return nil, false
	}
	var t tree
	if err := pyjson.Unmarshal(text, &t); err != nil || t.Version != treeVersion {
		return nil, false
	}
	var files []file
	for _, path := range slices.Sorted(maps.Keys(t.Files)) {
		e := t.Files[path]
		f := file{Path: path, Size: e.Size, Blob: e.Blob}
		if e.SHA256 != "" {
			f.LFS = &large{e.SHA256, e.LFS}
		}
		if f.check() != nil {
			return nil, false
		}
		files = append(files, f)
	}
	return files, true
}

// keep writes the list of a commit's files to a model's folder in the cache, unless a valid list is
// there.
func keep(repo, commit string, files []file) error {
	if _, ok := listed(repo, commit); ok {
		return nil
	}
	t := tree{treeVersion, map[string]entry{}}
	for _, f := range files {
		e := entry{Size: f.Size, Blob: f.Blob}
		if f.LFS != nil {
			e.SHA256, e.LFS = f.LFS.SHA256, f.LFS.Size
		}
		t.Files[f.Path] = e
	}
	text, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	dir := filepath.Join(repo, "trees")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return regular.Create(filepath.Join(dir, commit+".json"), func(f *os.File) error { _, err := f.Write(text); return err })
}
