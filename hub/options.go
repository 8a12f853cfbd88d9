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

// This file has the options of a pull, and reads their default values from the environment.

// Options state the server, the cache and the limits of a pull. Fields that are zero have the
// values of the environment.
type Options struct {
	Endpoint string // address of the hub; empty: HF_ENDPOINT, or https://huggingface.co
	Cache    string // folder; empty: HF_HUB_CACHE, or hub in HF_HOME
	Token    string // for private models; empty: HF_TOKEN, or the file HF_TOKEN_PATH or token in HF_HOME
	Offline  bool   // use only the cache, as with HF_HUB_OFFLINE or, if that is not set, TRANSFORMERS_OFFLINE

	// Files receives the paths of a repository's files and returns those to pull; nil: Needed.
	Files func(files []string) []string
	// Progress is called repeatedly during downloads, by one goroutine at a time.
	Progress func(Progress)
	// Idle is the longest time without data from a server. After it the request is repeated, up to
	// five attempts in all. 0: HF_HUB_DOWNLOAD_TIMEOUT, in seconds, or 30 seconds; less than 0:
	// only Client limits the time.
	Idle time.Duration
	// Resolve limits the time for the hub's answer to the question which commit a branch or a tag
	// names, and which files the commit has. It applies if the cache has a commit for the name.
	// After this time, or if the hub fails or denies access, Pull returns the commit in the cache
	// and calls Warn. 0: HF_HUB_ETAG_TIMEOUT, in seconds, or ten seconds; less than 0: only Idle
	// limits the time.
	Resolve time.Duration
	// Warn is called if Pull returns files of the cache because the hub did not answer, failed or
	// denied access. It may be nil.
	Warn func(warning string)
	// Client makes the requests; nil: http.DefaultClient. The token is sent only to Endpoint's
	// host.
	Client *http.Client
}

// Progress describes the progress of a pull.
type Progress struct {
	File        string // whose bytes were counted last
	Done, Total int64  // bytes of all files of the pull
}

// A puller holds the state of one pull.
type puller struct {
	Options
	name Name
	repo string // the model's folder in the cache
}

// settle replaces options that are zero with the values of the environment or the defaults.
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

// patience returns the time to wait: d if it is positive, the largest duration if d is negative. If
// d is 0, it returns the seconds in the environment variable, or usual if that is not set.
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
