package hub

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/regular"
)

// This file has the options of a pull, and what the environment says where they are zero.

// Options say where models come from and where they are stored. The zero value uses the
// environment.
type Options struct {
	Endpoint string // of the hub; empty: HF_ENDPOINT, or https://huggingface.co
	Cache    string // folder; empty: HF_HUB_CACHE, or hub in HF_HOME
	Token    string // for private models; empty: HF_TOKEN, or the file HF_TOKEN_PATH or token in HF_HOME
	Offline  bool   // uses only the cache; HF_HUB_OFFLINE, or else TRANSFORMERS_OFFLINE, has the same effect

	// Files chooses among the paths of a repository's files; nil: Needed.
	Files func(files []string) []string
	// Progress is called now and then during downloads, by one goroutine at a time.
	Progress func(Progress)
	// Idle is how long a server may send nothing before the request is made again, five times in
	// all; 0: HF_HUB_DOWNLOAD_TIMEOUT, in seconds, or half a minute; less than 0: as long as Client
	// waits.
	Idle time.Duration
	// Resolve is how long the hub may take to say which commit a branch or a tag means, and which
	// files the commit has, where the cache has a commit for it. Then, and where the hub fails or
	// denies access, Pull returns what the cache has, and calls Warn. 0: HF_HUB_ETAG_TIMEOUT, in
	// seconds, or ten seconds; less than 0: no limit but Idle.
	Resolve time.Duration
	// Warn is called if Pull returns what the cache has because the hub did not answer; nil: not.
	Warn func(warning string)
	// Client makes the requests; nil: http.DefaultClient. The token is sent only to Endpoint's
	// host.
	Client *http.Client
}

// Progress describes how far a pull has come.
type Progress struct {
	File        string // that came last, whole or a piece of it
	Done, Total int64  // bytes of all files
}

// A puller is a pull in progress.
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

// patience returns how long to wait: d; if d is 0, the seconds in a variable of the environment, or
// else the default; without end if d is negative.
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
