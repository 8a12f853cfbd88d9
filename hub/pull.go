package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/filelock"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
)

// This file lists a repository and stores its files in the cache: blobs are named by their hashes,
// and each commit has a folder of links to blobs.

// ask asks the hub for the commit of the revision and its files. If the cache has nothing, it makes
// several attempts; otherwise one, for at most p.Resolve.
func (p *puller) ask(ctx context.Context, have state) (commit string, files []file, err error) {
	if have == absent {
		return p.list(ctx, attempts)
	}
	late := check.Errorf(fault.ErrServer, "%s has not answered within %v", p.Endpoint, p.Resolve)
	ctx, cancel := context.WithTimeoutCause(ctx, p.Resolve, late)
	defer cancel()
	return p.list(ctx, 1)
}

// A state says how much the cache has for a name.
type state int

const (
	absent  state = iota // nothing, or part of it
	perhaps              // a folder that may lack files, because the cache has no list of the commit's files
	whole                // everything
)

// look returns the path of the name in the cache, and the state there.
func (p *puller) look() (string, state) {
	commit := p.commit()
	if commit == "" {
		return "", absent
	}
	dir := p.snapshot(commit)
	path := filepath.Join(dir, filepath.FromSlash(p.name.File))
	if p.name.File != "" {
		// A file gets its name in the cache when it is complete.
		for _, part := range hub.Parts(p.name.File) {
			if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(part))); err != nil || !info.Mode().IsRegular() {
				return "", absent
			}
		}
		return path, whole
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", absent
	}
	all, ok := listed(p.repo, commit)
	if !ok {
		return path, perhaps
	}
	if files, err := p.choose(all); err != nil || !every(dir, files) {
		return "", absent
	}
	return path, whole
}

// cached returns the path of the name's folder or file in the cache.
func (p *puller) cached() (string, error) {
	if commit := p.commit(); commit != "" {
		path := filepath.Join(p.snapshot(commit), filepath.FromSlash(p.name.File))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", check.Errorf(fault.ErrOffline, "%s under %s", p.name, p.Cache)
}

// pinned returns the revision, in lower case if it is a commit.
func (p *puller) pinned() string {
	if low := strings.ToLower(p.name.revision()); isCommit(low) {
		return low
	}
	return p.name.revision()
}

// commit returns the revision if it is a commit, and otherwise the commit that the cache has for
// the branch or tag. It returns "" if the cache has none.
func (p *puller) commit() string {
	commit := p.pinned()
	if text, err := regular.ReadFile(os.DirFS(filepath.Join(p.repo, "refs")), commit); err == nil {
		commit = strings.TrimSpace(string(text))
	}
	if !isCommit(commit) {
		return ""
	}
	return commit
}

// snapshot returns the folder of a commit.
func (p *puller) snapshot(commit string) string { return filepath.Join(p.repo, "snapshots", commit) }

// list asks the hub for the commit of the revision and its files, in at most the given number of
// attempts.
func (p *puller) list(ctx context.Context, attempts int) (commit string, files []file, err error) {
	at := p.Endpoint + "/api/models/" + p.name.Repository + "/revision/" + url.PathEscape(p.name.revision()) + "?blobs=true"
	var text []byte
	err = again(ctx, attempts, func() error {
		resp, err := p.get(ctx, at, 0)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		const most = 1 << 26 // bytes, enough for about 300,000 files
		text, err = io.ReadAll(io.LimitReader(resp.Body, most))
		return passing(ctx, err)
	})
	if err != nil {
		return "", nil, err
	}
	var info struct {
		Commit   string `json:"sha"`
		Siblings []file `json:"siblings"`
	}
	if err := pyjson.Unmarshal(text, &info); err != nil {
		return "", nil, check.Errorf(fault.ErrServer, "%s: %v", at, err)
	}
	if !isCommit(info.Commit) {
		return "", nil, check.Errorf(fault.ErrServer, "%s: sha = %q, want a commit", at, info.Commit)
	}
	if pinned := strings.ToLower(p.name.revision()); isCommit(pinned) && info.Commit != pinned {
		return "", nil, check.Errorf(fault.ErrServer, "%s: sha = %q, want the requested commit", at, info.Commit)
	}
	for i := range info.Siblings {
		if err := info.Siblings[i].check(); err != nil {
			return "", nil, err
		}
	}
	return info.Commit, info.Siblings, nil
}

// choose returns the files to pull.
func (p *puller) choose(files []file) ([]file, error) {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	chosen := hub.Parts(p.name.File)
	if p.name.File == "" {
		chosen = p.Files(slices.Clone(paths))
	} else {
		for _, f := range chosen {
			if !slices.Contains(paths, f) {
				return nil, check.Errorf(fault.ErrNoModel, "the repository has no file %s", f)
			}
		}
	}
	if len(chosen) == 0 {
		gguf := slices.DeleteFunc(paths, func(f string) bool { return path.Ext(f) != ".gguf" })
		if len(gguf) > 0 {
			return nil, check.Errorf(fault.ErrNoModel, "the repository is not a folder of a model, but has GGUF files: %s/%s", p.name.Repository, strings.Join(gguf, ", "))
		}
		return nil, check.Errorf(fault.ErrNoModel, "the repository has neither config.json nor an adapter's adapter_config.json with its weights")
	}
	return slices.DeleteFunc(slices.Clone(files), func(f file) bool { return !slices.Contains(chosen, f.Path) }), nil
}

// pull downloads the chosen files of a commit that the cache lacks, and returns the folder of the
// commit.
func (p *puller) pull(ctx context.Context, commit string, all []file) (string, error) {
	files, err := p.choose(all)
	if err != nil {
		return "", err
	}
	total := &counter{report: p.Progress}
	for _, f := range files {
		total.p.Total += f.Size
	}
	dir := p.snapshot(commit)
	if every(dir, files) {
		for _, f := range files {
			total.add(f.Path, f.Size)
		}
		_ = keep(p.repo, commit, all) // the cache may be read-only
	} else if err := p.download(ctx, commit, all, files, total); err != nil {
		return "", err
	}
	if p.pinned() == commit || p.commit() == commit {
		return dir, nil
	}
	// The ref is written last: its existence means that its snapshot is complete.
	ref := filepath.Join(p.repo, "refs", filepath.FromSlash(p.name.revision()))
	if err := os.MkdirAll(filepath.Dir(ref), 0o777); err != nil {
		return "", err
	}
	return dir, regular.Create(ref, func(f *os.File) error { _, err := f.WriteString(commit); return err })
}

// download stores files of a commit in the cache, and the list of all files of the commit.
func (p *puller) download(ctx context.Context, commit string, all, files []file, total *counter) error {
	blobs := filepath.Join(p.repo, "blobs")
	locks := filepath.Join(p.Cache, ".locks", filepath.Base(p.repo))
	for _, dir := range []string{blobs, locks} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	if err := keep(p.repo, commit, all); err != nil {
		return err
	}
	dir := p.snapshot(commit)
	return atOnce(ctx, files, func(ctx context.Context, f file) error {
		unlock, err := filelock.Lock(ctx, filepath.Join(locks, f.hash()+".lock"))
		if err != nil {
			return err
		}
		defer unlock()
		blob := filepath.Join(blobs, f.hash())
		if info, err := os.Stat(blob); err == nil && info.Size() == f.Size {
			total.add(f.Path, f.Size)
		} else if err := again(ctx, attempts, func() error { return p.fetch(ctx, commit, f, blob, total) }); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		return link(blob, filepath.Join(dir, filepath.FromSlash(f.Path)))
	})
}

// atOnce calls do for every file, for up to four at the same time, and returns the first error.
func atOnce(ctx context.Context, files []file, do func(ctx context.Context, f file) error) error {
	const most = 4
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	slots := make(chan struct{}, most)
	for _, f := range files {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			if err := do(ctx, f); err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// link creates path as a relative link to a blob. On Windows, where creating links needs a
// permission, it copies the blob if it cannot create the link.
func link(blob, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	target, err := filepath.Rel(filepath.Dir(path), blob)
	if err != nil {
		return err
	}
	if at, err := os.Readlink(path); err == nil && at == target {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err = os.Symlink(target, path)
	if err != nil && runtime.GOOS == "windows" {
		return regular.Create(path, func(f *os.File) error {
			from, err := os.Open(blob)
			if err != nil {
				return err
			}
			defer from.Close()
			_, err = io.Copy(f, from)
			return err
		})
	}
	return err
}
