// Package hub downloads models from the Hugging Face hub, or from a server with its API, to the cache of the Python library
// huggingface_hub: the two share their downloads.
//
//	dir, err := hub.Pull(ctx, "sentence-transformers/all-MiniLM-L6-v2", hub.Options{})
//	e, err := text.OpenEmbedder(dir, text.Options{})
//
// Only what a model needs is downloaded (see [Needed]). An interrupted download continues where it ended. Each file is compared with the
// size and the hash that the hub states before it gets its name in the cache: a file in the cache is always complete.
//
// The network is not waited for where the cache has the answer: a commit that is whole there asks nothing, and a branch or a tag asks for a
// short time which commit it means, and otherwise means what it meant last.
//
// The environment is that of huggingface_hub: HF_HOME, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HUB_OFFLINE,
// TRANSFORMERS_OFFLINE, HF_HUB_ETAG_TIMEOUT, HF_HUB_DOWNLOAD_TIMEOUT.
//
// No other package of this module uses the network.
//
// This package is settling: see doc/stability.md.
package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/regular"
)

// Options say where models come from and where they are stored. The zero value uses the environment.
type Options struct {
	Endpoint string // of the hub; empty: HF_ENDPOINT, or https://huggingface.co
	Cache    string // folder; empty: HF_HUB_CACHE, or hub in HF_HOME
	Token    string // for private models; empty: HF_TOKEN, or the file HF_TOKEN_PATH or token in HF_HOME
	Offline  bool   // the cache alone; HF_HUB_OFFLINE, or else TRANSFORMERS_OFFLINE, has the same effect

	// Files chooses among the paths of a repository's files; nil: Needed.
	Files func(files []string) []string
	// Progress is called now and then during downloads, by one goroutine at a time.
	Progress func(Progress)
	// Idle is how long a server may send nothing before the request is made again, five times in all; 0: HF_HUB_DOWNLOAD_TIMEOUT, in
	// seconds, or half a minute; less than 0: as long as Client waits.
	Idle time.Duration
	// Resolve is how long the hub may take to say which commit a branch or a tag means, and which files the commit has, where the cache has
	// a commit for it. Then, and where the hub fails or denies access, Pull returns what the cache has, and calls Warn.
	// 0: HF_HUB_ETAG_TIMEOUT, in seconds, or ten seconds; less than 0: no limit but Idle.
	Resolve time.Duration
	// Warn is called if Pull returns what the cache has because the hub did not answer; nil: not.
	Warn func(warning string)
	// Client makes the requests; nil: http.DefaultClient. The token is sent only to Endpoint's host.
	Client *http.Client
}

// Progress describes how far a pull has come.
type Progress struct {
	File        string // that just came, or of which a piece did
	Done, Total int64  // bytes of all files
}

// Pull downloads the files of a model, [hf://]org/name[@revision], to the cache, and returns the
// folder that holds them. For [hf://]org/name/file[@revision] it downloads only that file, such as
// one of several GGUF files, and returns its path; for a part of a split GGUF file it downloads all
// parts.
//
// A commit that the cache has whole asks the hub nothing, and so does a file of a commit. For a branch or a tag Pull asks for no longer than
// o.Resolve where the cache has one of its commits, and returns that if no answer comes.
func Pull(ctx context.Context, name string, o Options) (string, error) {
	n, err := ParseName(name)
	if err != nil {
		return "", err
	}
	p := puller{Options: o, name: n}
	if err := p.settle(); err != nil {
		return "", err
	}
	if p.Offline {
		return p.cached()
	}
	path, err := p.find(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n, err)
	}
	return path, nil
}

// find returns the path of the model, from the cache where that is enough.
func (p *puller) find(ctx context.Context) (string, error) {
	found, have := p.look()
	if have == whole && isCommit(p.pinned()) {
		return found, nil // which never changes
	}
	commit, files, err := p.ask(ctx, have)
	switch {
	case err == nil:
		dir, err := p.pull(ctx, commit, files)
		return filepath.Join(dir, filepath.FromSlash(p.name.File)), err
	case have == absent || ctx.Err() != nil || !errors.Is(err, fault.ErrServer) && !errors.Is(err, fault.ErrAccess):
		return "", err
	}
	if p.Warn != nil {
		p.Warn(fmt.Sprintf("%s: taken from the cache as it was pulled last, since %v", p.name, err))
	}
	return found, nil
}

// A puller is one pull.
type puller struct {
	Options
	name Name
	repo string // the model's folder in the cache
}

// settle fills in the options that come from the environment.
func (p *puller) settle() error {
	if p.Cache == "" {
		dir, err := hub.Cache()
		if err != nil {
			return fmt.Errorf("hub: no folder for the cache, set HF_HOME: %w", err)
		}
		p.Cache = dir
	}
	p.repo = hub.Repository(p.Cache, p.name.Repository)
	if p.Endpoint == "" {
		p.Endpoint = os.Getenv("HF_ENDPOINT")
	}
	if p.Endpoint == "" {
		p.Endpoint = "https://huggingface.co"
	}
	p.Endpoint = strings.TrimRight(p.Endpoint, "/")
	offline := cmp.Or(os.Getenv("HF_HUB_OFFLINE"), os.Getenv("TRANSFORMERS_OFFLINE"))
	p.Offline = p.Offline || slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(offline))
	if p.Client == nil {
		p.Client = http.DefaultClient
	}
	p.Client = discreet(p.Client)
	if p.Files == nil {
		p.Files = Needed
	}
	if p.Token == "" {
		p.Token = token()
	}
	var err error
	if p.Idle, err = patience(p.Idle, "HF_HUB_DOWNLOAD_TIMEOUT", 30*time.Second); err == nil {
		p.Resolve, err = patience(p.Resolve, "HF_HUB_ETAG_TIMEOUT", 10*time.Second)
	}
	return err
}

// patience returns how long to wait: d, for 0 the seconds that a variable of the environment has or what is usual, without end if d is negative.
func patience(d time.Duration, variable string, usual time.Duration) (time.Duration, error) {
	if d != 0 {
		if d < 0 {
			d = math.MaxInt64
		}
		return d, nil
	}
	value := os.Getenv(variable)
	if value == "" {
		return usual, nil
	}
	seconds, err := strconv.Atoi(value)
	if err != nil || seconds <= 0 || seconds > math.MaxInt32 {
		return 0, check.Option(variable, value, "want a number of seconds")
	}
	return time.Duration(seconds) * time.Second, nil
}

// token returns the token of the environment, or "" if there is no token.
func token() string {
	if t := os.Getenv("HF_TOKEN"); t != "" {
		return strings.TrimSpace(t)
	}
	path := os.Getenv("HF_TOKEN_PATH")
	if path == "" {
		home, err := hub.Home()
		if err != nil {
			return ""
		}
		path = filepath.Join(home, "token")
	}
	text, err := regular.ReadFile(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil || len(text) > 1<<12 {
		return ""
	}
	return strings.TrimSpace(string(text))
}
