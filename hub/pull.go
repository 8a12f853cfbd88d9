package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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

// This file lists a repository and puts its files into the cache: blobs by their hashes, and a
// folder of links to them for each commit.

// A file is one of a repository, as the hub's API describes it.
type file struct {
	Path string `json:"rfilename"`
	Size int64  `json:"size"`
	Blob string `json:"blobId"` // SHA-1 of Git
	LFS  *struct {
		SHA256 string `json:"sha256"`
		Size   int64  `json:"size"`
	} `json:"lfs"`
}

// hash is that of the file, which also is the name of its blob: SHA-256 of large files, Git's
// hash of small ones.
func (f *file) hash() string {
	if f.LFS != nil {
		return f.LFS.SHA256
	}
	return f.Blob
}

// check returns an error unless the description is valid.
func (f *file) check() error {
	want := 40
	if f.LFS != nil {
		want, f.Size = 64, f.LFS.Size
	}
	if !isFile(f.Path) || f.Size < 0 || len(f.hash()) != want || !isHex(f.hash()) {
		return check.Errorf(fault.ErrServer, "it lists a file %q of %d bytes with the hash %q", f.Path, f.Size, f.hash())
	}
	return nil
}

// list returns the commit of the revision, and its files.
func (p *puller) list(ctx context.Context) (commit string, files []file, err error) {
	at := p.Endpoint + "/api/models/" + p.name.Repository + "/revision/" + url.PathEscape(p.name.revision()) + "?blobs=true"
	var text []byte
	err = again(ctx, func() error {
		resp, err := p.get(ctx, at, 0)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		const most = 1 << 26 // bytes; some 300,000 files
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
				return nil, check.Errorf(fault.ErrNoModel, "it has no file %s", f)
			}
		}
	}
	if len(chosen) == 0 {
		gguf := slices.DeleteFunc(paths, func(f string) bool { return path.Ext(f) != ".gguf" })
		if len(gguf) > 0 {
			return nil, check.Errorf(fault.ErrNoModel, "it is not a folder of a model, but has GGUF files: %s/%s", p.name.Repository, strings.Join(gguf, ", "))
		}
		return nil, check.Errorf(fault.ErrNoModel, "it has neither config.json nor an adapter's adapter_config.json with its weights")
	}
	return slices.DeleteFunc(slices.Clone(files), func(f file) bool { return !slices.Contains(chosen, f.Path) }), nil
}

// pull downloads the files, and returns the folder of the commit.
func (p *puller) pull(ctx context.Context) (string, error) {
	commit, files, err := p.list(ctx)
	if err != nil {
		return "", err
	}
	if files, err = p.choose(files); err != nil {
		return "", err
	}
	blobs := filepath.Join(p.repo, "blobs")
	locks := filepath.Join(p.Cache, ".locks", filepath.Base(p.repo))
	for _, dir := range []string{blobs, locks} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return "", err
		}
	}
	total := &counter{report: p.Progress}
	for _, f := range files {
		total.p.Total += f.Size
	}
	dir := filepath.Join(p.repo, "snapshots", commit)
	err = atOnce(ctx, files, func(ctx context.Context, f file) error {
		unlock, err := filelock.Lock(ctx, filepath.Join(locks, f.hash()+".lock"))
		if err != nil {
			return err
		}
		defer unlock()
		blob := filepath.Join(blobs, f.hash())
		if info, err := os.Stat(blob); err == nil && info.Size() == f.Size {
			total.add(f.Path, f.Size)
		} else if err := again(ctx, func() error { return p.fetch(ctx, commit, f, blob, total) }); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		return link(blob, filepath.Join(dir, filepath.FromSlash(f.Path)))
	})
	if err != nil {
		return "", err
	}
	if p.name.revision() == commit {
		return dir, nil
	}
	// The ref is written last: if there is one, its snapshot is complete.
	ref := filepath.Join(p.repo, "refs", filepath.FromSlash(p.name.revision()))
	if err := os.MkdirAll(filepath.Dir(ref), 0o777); err != nil {
		return "", err
	}
	return dir, regular.Create(ref, func(f *os.File) error { _, err := f.WriteString(commit); return err })
}

// atOnce calls do for every file, for several at the same time, and returns the first error.
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

// A counter adds up the received bytes.
type counter struct {
	mu     sync.Mutex
	p      Progress
	report func(Progress)
}

func (c *counter) add(file string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.p.File = file
	c.p.Done += n
	if c.report != nil {
		c.report(c.p)
	}
}

// link makes path a relative link to a blob, or a copy of it where links cannot be made, as on Windows without the right to make them.
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

// get requests the file at an address, from byte from on. The answer is the whole file (200) or, if from is not 0, possibly the rest (206).
func (p *puller) get(ctx context.Context, at string, from int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, check.Errorf(fault.ErrName, "%v", err)
	}
	req.Header.Set("User-Agent", "avoformer")
	if p.Token != "" {
		req.Header.Set("Authorization", "Bearer "+p.Token)
	}
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w (HF_HUB_OFFLINE=1 takes what the cache has)", passing(ctx, err))
	}
	if err := status(resp, at); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// discreet returns c without the token in redirects to another host, port or scheme. http.Client by itself
// also sends it to subdomains and to other ports, where the hub keeps large files.
func discreet(c *http.Client) *http.Client {
	d := *c
	d.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if from := via[0].URL; req.URL.Host != from.Host || req.URL.Scheme != from.Scheme {
			req.Header.Del("Authorization")
		}
		if c.CheckRedirect != nil {
			return c.CheckRedirect(req, via)
		}
		const most = 10
		if len(via) >= most {
			return fmt.Errorf("%d redirects", len(via))
		}
		return nil
	}
	return &d
}

// Temporary errors: those of the server, and of requesting the rest of a file that has none.
var (
	errTransient = fmt.Errorf("%w, perhaps for a moment", fault.ErrServer)
	errRange     = fmt.Errorf("%w: no such range", errTransient)
)

// status returns the error that an answer states.
func status(resp *http.Response, at string) error {
	switch code := resp.StatusCode; {
	case code == http.StatusOK, code == http.StatusPartialContent:
		return nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return check.Errorf(fault.ErrAccess, "%s: %s%s; a private or gated model takes a token, in HF_TOKEN, of somebody who was let in; the answer for a model that does not exist is the same", at, resp.Status, reason(resp))
	case code == http.StatusNotFound:
		return check.Errorf(fault.ErrNoModel, "%s%s", at, reason(resp))
	case code == http.StatusRequestedRangeNotSatisfiable:
		return fmt.Errorf("%w: %s", errRange, at)
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		return fmt.Errorf("%w: %s: %s", errTransient, at, resp.Status)
	}
	return check.Errorf(fault.ErrServer, "%s: %s", at, resp.Status)
}

// reason returns the hub's own explanation of an error, for example that a model is gated.
func reason(resp *http.Response) string {
	if text := resp.Header.Get("X-Error-Message"); text != "" {
		return fmt.Sprintf(": %.300q", text)
	}
	return ""
}
