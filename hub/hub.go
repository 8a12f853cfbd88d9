// Package hub downloads models from the Hugging Face hub, or from a server with its API, to the cache of the Python library
// huggingface_hub: the two share their downloads.
//
//	dir, err := hub.Pull(ctx, "sentence-transformers/all-MiniLM-L6-v2", hub.Options{})
//	e, err := text.OpenEmbedder(dir, text.Options{})
//
// Only what a model needs is downloaded (see [Needed]). An interrupted download continues where it ended. Each file is compared with the
// size and the hash that the hub states before it gets its name in the cache: a file in the cache is always complete.
//
// The environment is that of huggingface_hub: HF_HOME, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN,
// HF_TOKEN_PATH, HF_HUB_OFFLINE.
//
// No other package of this module uses the network.
package hub

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	Offline  bool   // the cache alone; HF_HUB_OFFLINE has the same effect

	// Files chooses among the paths of a repository's files; nil: Needed.
	Files func(files []string) []string
	// Progress is called now and then during downloads, by one goroutine at a time.
	Progress func(Progress)
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
	dir, err := p.pull(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n, err)
	}
	return filepath.Join(dir, filepath.FromSlash(n.File)), nil
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
	p.Offline = p.Offline || slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(os.Getenv("HF_HUB_OFFLINE")))
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
	return nil
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

// cached returns the folder or file that the cache has for the name.
func (p *puller) cached() (string, error) {
	commit := p.name.revision()
	if text, err := regular.ReadFile(os.DirFS(filepath.Join(p.repo, "refs")), commit); err == nil {
		commit = strings.TrimSpace(string(text))
	}
	if isCommit(commit) {
		path := filepath.Join(p.repo, "snapshots", commit, filepath.FromSlash(p.name.File))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", check.Errorf(fault.ErrOffline, "%s under %s", p.name, p.Cache)
}

// isCommit reports whether s is the hash of a commit, which names a snapshot.
func isCommit(s string) bool { return len(s) == 40 && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
