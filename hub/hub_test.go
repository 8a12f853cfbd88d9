package hub_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/hub"
	"github.com/avoformer/avoformer/internal/testenv"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// A fake is a hub with one model. Its large files are on another host, as those of the real hub
// are.
type fake struct {
	hub, cdn *httptest.Server
	files    map[string][]byte
	large    []string

	mu       sync.Mutex
	requests []string                                          // their paths, and their ranges
	trouble  func(w http.ResponseWriter, r *http.Request) bool // handles a request if it returns true
}

func newFake(t *testing.T) *fake {
	f := &fake{large: []string{"model.safetensors", "a/b c.gguf"}, files: map[string][]byte{
		"config.json": []byte(`{"model_type": "bert"}`), "tokenizer.json": []byte("{}"), "README.md": []byte("# x"),
		"1_Pooling/config.json": []byte("{}"), "pytorch_model.bin": []byte("old"), "onnx/model.onnx": []byte("other"),
		"model.safetensors": bytes.Repeat([]byte("0123456789abcdef"), 1<<16), "a/b c.gguf": []byte("GGUF"),
	}}
	f.hub = httptest.NewServer(http.HandlerFunc(f.serve))
	f.cdn = httptest.NewServer(http.HandlerFunc(f.serveLarge))
	t.Cleanup(f.hub.Close)
	t.Cleanup(f.cdn.Close)
	for _, name := range []string{"HF_HOME", "HF_ENDPOINT", "HF_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_CACHE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HF_HOME", t.TempDir())
	t.Setenv("HF_ENDPOINT", f.hub.URL)
	return f
}

func (f *fake) note(w http.ResponseWriter, r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
	return f.trouble != nil && f.trouble(w, r)
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	if f.note(w, r) {
		return
	}
	if slices.Contains([]string{"main", commit}, strings.TrimPrefix(r.URL.Path, "/api/models/org/name/revision/")) {
		var siblings []map[string]any
		for path, data := range f.files {
			blob := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
			s := map[string]any{"rfilename": path, "size": len(data), "blobId": hex.EncodeToString(blob[:])}
			if slices.Contains(f.large, path) {
				sum := sha256.Sum256(data)
				s["lfs"] = map[string]any{"sha256": hex.EncodeToString(sum[:]), "size": len(data)}
			}
			siblings = append(siblings, s)
		}
		json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": siblings})
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/org/name/resolve/"+commit+"/")
	data, exists := f.files[path]
	switch {
	case !ok || !exists:
		http.NotFound(w, r)
	case slices.Contains(f.large, path):
		http.Redirect(w, r, f.cdn.URL+"/"+path, http.StatusFound)
	default:
		w.Write(data)
	}
}

func (f *fake) serveLarge(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		http.Error(w, "the token came to another host", http.StatusTeapot)
		return
	}
	if !f.note(w, r) {
		http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(f.files[r.URL.Path[1:]]))
	}
}

// cause lets trouble handle the following requests. It locks: the handler of an earlier request,
// whose response the client no longer reads, may still be running.
func (f *fake) cause(trouble func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trouble = trouble
}

// asked returns the requests since the last call.
func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.requests
	f.requests = nil
	return r
}

// TestPull pulls a model. The second time all files are in the cache.
func TestPull(t *testing.T) {
	f := newFake(t)
	f.files["merges.txt"] = nil // some repositories have an empty file
	t.Setenv("HF_TOKEN", "secret")
	var last hub.Progress
	dir, err := hub.Pull(t.Context(), "hf://org/name", hub.Options{Progress: func(p hub.Progress) { last = p }})
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(os.Getenv("HF_HOME"), "hub", "models--org--name")
	if want := filepath.Join(repo, "snapshots", commit); dir != want {
		t.Errorf("Pull = %s, want %s", dir, want)
	}
	if ref, _ := os.ReadFile(filepath.Join(repo, "refs", "main")); string(ref) != commit {
		t.Errorf("refs/main is %q", ref)
	}
	want := []string{"1_Pooling/config.json", "config.json", "merges.txt", "model.safetensors", "tokenizer.json"}
	if got := files(t, dir); !slices.Equal(got, want) {
		t.Errorf("the snapshot has %q, want %q", got, want)
	}
	total := 0
	for _, name := range want {
		total += len(f.files[name])
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, f.files[name]) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if last.Done != int64(total) || last.Total != int64(total) {
		t.Errorf("progress ends at %+v, want %d bytes", last, total)
	}
	f.asked()
	if again, err := hub.Pull(t.Context(), "org/name@main", hub.Options{}); err != nil || again != dir {
		t.Errorf("the second time: %s, %v", again, err)
	}
	if got := f.asked(); len(got) != 1 {
		t.Errorf("the second time it asked for %q", got)
	}
	if got, err := hub.Pull(t.Context(), "org/name", hub.Options{Offline: true}); err != nil || got != dir {
		t.Errorf("offline: %s, %v", got, err)
	}
	if got := f.asked(); len(got) != 0 {
		t.Errorf("offline it asked for %q", got)
	}
	t.Setenv("HF_HUB_OFFLINE", "1")
	if _, err := hub.Pull(t.Context(), "org/other", hub.Options{}); !errors.Is(err, fault.ErrOffline) {
		t.Errorf("another model offline: %v, want ErrOffline", err)
	}
}

// TestPullFile pulls one file, whose path needs escaping in a URL.
func TestPullFile(t *testing.T) {
	f := newFake(t)
	path, err := hub.Pull(t.Context(), "org/name/a/b c.gguf", hub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, f.files["a/b c.gguf"]) {
		t.Errorf("%s holds %q", path, got)
	}
	if _, err := hub.Pull(t.Context(), "org/name/none.gguf", hub.Options{}); !errors.Is(err, fault.ErrNoModel) {
		t.Errorf("a missing file: %v, want ErrNoModel", err)
	}
	const first, second = "q/x-00001-of-00002.gguf", "q/x-00002-of-00002.gguf"
	f.files[first] = []byte("one part")
	if _, err := hub.Pull(t.Context(), "org/name/"+first, hub.Options{}); !errors.Is(err, fault.ErrNoModel) || !strings.Contains(err.Error(), second) {
		t.Errorf("a part is missing: %v, want ErrNoModel that names it", err)
	}
	f.files[second] = []byte("the other")
	if path, err = hub.Pull(t.Context(), "org/name/"+first, hub.Options{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(filepath.Dir(path), filepath.Base(second))); string(got) != "the other" {
		t.Errorf("the other part, next to %s, is %q", path, got)
	}
	delete(f.files, "config.json")
	if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); !errors.Is(err, fault.ErrNoModel) || !strings.Contains(err.Error(), "a/b c.gguf") {
		t.Errorf("a repository of GGUF files: %v, want ErrNoModel and their names", err)
	}
}

// TestResume continues a download whose connection broke, and one whose process ended.
func TestResume(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		t.Run(fmt.Sprintf("ranges=%v", ranges), func(t *testing.T) {
			f := newFake(t)
			defer hub.SetPause(func(int) time.Duration { return 0 })()
			broken := 0
			f.cause(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/model.safetensors" {
					return false
				}
				if !ranges {
					r.Header.Del("Range") // a server without ranges
				}
				if broken++; broken > 2 {
					return false
				}
				data := f.files["model.safetensors"]
				from := 0
				if r.Header.Get("Range") != "" {
					fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
					w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
					w.Header().Set("Content-Length", strconv.Itoa(len(data)-from))
					w.WriteHeader(http.StatusPartialContent)
				} else {
					w.Header().Set("Content-Length", strconv.Itoa(len(data)))
				}
				w.Write(data[from : from+1000]) // the connection ends here
				return true
			})
			var last hub.Progress
			dir, err := hub.Pull(t.Context(), "org/name", hub.Options{Progress: func(p hub.Progress) { last = p }})
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(filepath.Join(dir, "model.safetensors")); !bytes.Equal(got, f.files["model.safetensors"]) {
				t.Errorf("%d bytes, not those of the file", len(got))
			}
			if last.Done != last.Total {
				t.Errorf("progress ends at %+v", last)
			}
			if got := f.asked(); ranges && !slices.Contains(got, "/model.safetensors bytes=2000-") {
				t.Errorf("it asked for %q, want bytes from 2000 on", got)
			}
		})
	}
}

// TestLeftovers pulls a file of which an earlier process left wrong data, or too much of it.
func TestLeftovers(t *testing.T) {
	for name, left := range map[string][]byte{"other bytes": []byte("nonsense"), "too long": make([]byte, 2<<20)} {
		f := newFake(t)
		sum := sha256.Sum256(f.files["model.safetensors"])
		blobs := filepath.Join(os.Getenv("HF_HOME"), "hub", "models--org--name", "blobs")
		blob := filepath.Join(blobs, hex.EncodeToString(sum[:]))
		if err := errors.Join(os.MkdirAll(blobs, 0o777), os.WriteFile(blob+".incomplete", left, 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := hub.Pull(t.Context(), "org/name", hub.Options{})
		if err != nil && !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); err != nil {
			t.Errorf("%s, the second time: %v", name, err)
		}
		if got, _ := os.ReadFile(blob); !bytes.Equal(got, f.files["model.safetensors"]) {
			t.Errorf("%s: %d bytes, not those of the file", name, len(got))
		}
	}
}

// TestFailures pulls from servers that fail, in one way each.
func TestFailures(t *testing.T) {
	answer := func(code int, body string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(code)
			w.Write([]byte(body))
			return true
		}
	}
	large := func(do func(w http.ResponseWriter, r *http.Request) bool) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			return r.URL.Path == "/model.safetensors" && do(w, r)
		}
	}
	listing := func(file string) func(w http.ResponseWriter, r *http.Request) bool {
		return answer(200, `{"sha": "`+commit+`", "siblings": [`+file+`]}`)
	}
	blob := strings.Repeat("a", 40)
	for name, c := range map[string]struct {
		trouble func(w http.ResponseWriter, r *http.Request) bool
		want    error
	}{
		"unauthorized":           {answer(401, ""), fault.ErrAccess},
		"gated":                  {answer(403, ""), fault.ErrAccess},
		"absent":                 {answer(404, ""), fault.ErrNoModel},
		"busy":                   {answer(503, ""), fault.ErrServer},
		"no JSON":                {answer(200, "<html>"), fault.ErrServer},
		"no commit":              {answer(200, `{"sha": "../../x", "siblings": []}`), fault.ErrServer},
		"a path out of the tree": {listing(`{"rfilename": "../../x", "size": 1, "blobId": "` + blob + `"}`), fault.ErrServer},
		"a path of Windows":      {listing(`{"rfilename": "..\\x", "size": 1, "blobId": "` + blob + `"}`), fault.ErrServer},
		"a hash that is a path":  {listing(`{"rfilename": "config.json", "size": 1, "blobId": "../x"}`), fault.ErrServer},
		"a negative size":        {listing(`{"rfilename": "config.json", "size": -1, "blobId": "` + blob + `"}`), fault.ErrServer},
		"no file":                {listing(""), fault.ErrNoModel},
		"a redirect loop": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return true
		}, fault.ErrServer},
		"too short":     {large(answer(200, "0123")), fault.ErrServer},
		"too long":      {large(answer(200, strings.Repeat("0123456789abcdef", 1<<17))), fault.ErrCorrupt},
		"other bytes":   {large(answer(200, strings.Repeat("x", 1<<20))), fault.ErrCorrupt},
		"always busy":   {large(answer(500, "")), fault.ErrServer},
		"no such range": {large(answer(416, "")), fault.ErrServer},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			defer hub.SetPause(func(int) time.Duration { return 0 })()
			f.cause(c.trouble)
			if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			repo := filepath.Join(os.Getenv("HF_HOME"), "hub", "models--org--name")
			if _, err := os.Stat(filepath.Join(repo, "refs", "main")); err == nil {
				t.Error("there is a ref, which means that the model is complete")
			}
			f.cause(nil)
			if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); err != nil {
				t.Errorf("afterwards, from a server that works: %v", err)
			}
		})
	}
}

// TestLasting verifies that Pull does not repeat requests whose error is permanent.
func TestLasting(t *testing.T) {
	const weights = "/model.safetensors"
	for name, c := range map[string]struct {
		trouble func(w http.ResponseWriter, r *http.Request) bool
		client  *http.Client
		left    string // beginning of the file in the cache
	}{
		"a redirect loop": {trouble: func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return true
		}},
		"a redirect that the client refuses": {client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("no") }}},
		"another size": {trouble: func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == weights {
				w.Write([]byte("0123"))
			}
			return r.URL.Path == weights
		}},
		"another size of the rest": {left: "0123", trouble: func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == weights {
				w.Header().Set("Content-Range", "bytes 4-7/8")
				w.WriteHeader(http.StatusPartialContent)
				w.Write([]byte("4567"))
			}
			return r.URL.Path == weights
		}},
		"a size that no file has": {trouble: func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, "/api/") {
				fmt.Fprintf(w, `{"sha": %q, "siblings": [{"rfilename": "config.json", "size": 9223372036854775807, "blobId": %q}]}`, commit, strings.Repeat("a", 40))
				return true
			}
			w.(http.Flusher).Flush() // so that the answer has no size
			return false
		}},
		"no range although none was asked for": {trouble: func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == weights {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			}
			return r.URL.Path == weights
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			waited := false
			defer hub.SetPause(func(int) time.Duration { waited = true; return 0 })()
			f.cause(c.trouble)
			if c.left != "" {
				sum := sha256.Sum256(f.files["model.safetensors"])
				blobs := filepath.Join(os.Getenv("HF_HOME"), "hub", "models--org--name", "blobs")
				if err := errors.Join(os.MkdirAll(blobs, 0o777), os.WriteFile(filepath.Join(blobs, hex.EncodeToString(sum[:])+".incomplete"), []byte(c.left), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := hub.Pull(t.Context(), "org/name", hub.Options{Client: c.client}); !errors.Is(err, fault.ErrServer) {
				t.Errorf("%v, want ErrServer", err)
			}
			if waited {
				t.Error("the request was repeated")
			}
		})
	}
}

// TestPinned verifies that Pull returns an error if the server answers with another commit than the
// name has.
func TestPinned(t *testing.T) {
	f := newFake(t)
	other := strings.Repeat("89abcdef", 5)
	f.cause(func(w http.ResponseWriter, r *http.Request) bool {
		if at, _, ok := strings.Cut(r.URL.Path, "/revision/"); ok {
			r.URL.Path = at + "/revision/main"
		}
		return false
	})
	for _, revision := range []string{other, strings.ToUpper(other)} {
		if _, err := hub.Pull(t.Context(), "org/name@"+revision, hub.Options{}); !errors.Is(err, fault.ErrServer) || !strings.Contains(err.Error(), commit) {
			t.Errorf("@%s: %v, want ErrServer that names %s", revision, err, commit)
		}
	}
	if _, err := hub.Pull(t.Context(), "org/name@"+strings.ToUpper(commit), hub.Options{}); err != nil {
		t.Errorf("the commit in upper case: %v", err)
	}
}

// TestIdle verifies that Pull does not wait for a server that stops sending, and that the next
// attempt continues the download.
func TestIdle(t *testing.T) {
	if _, err := hub.Pull(t.Context(), "org/name", hub.Options{Idle: -1, Cache: t.TempDir(), Endpoint: newFake(t).hub.URL}); err != nil {
		t.Errorf("with no limit: %v", err)
	}
	for _, where := range []string{"/api/models/org/name/revision/main", "/org/name/resolve/" + commit + "/config.json", "/model.safetensors"} {
		if testenv.Quick() && where != "/model.safetensors" {
			continue
		}
		t.Run(where, func(t *testing.T) {
			f := newFake(t)
			defer hub.SetPause(func(int) time.Duration { return 0 })()
			asleep := 5
			f.cause(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != where || asleep == 0 {
					return false
				}
				asleep--
				if where == "/model.safetensors" && asleep == 4 {
					w.Header().Set("Content-Length", strconv.Itoa(len(f.files["model.safetensors"])))
					w.Write(f.files["model.safetensors"][:5000])
					w.(http.Flusher).Flush()
				}
				f.mu.Unlock() // the other files' downloads continue
				<-r.Context().Done()
				f.mu.Lock()
				return true
			})
			o := hub.Options{Idle: 100 * time.Millisecond}
			if _, err := hub.Pull(t.Context(), "org/name", o); !errors.Is(err, fault.ErrServer) || !strings.Contains(err.Error(), "nothing for 100ms") {
				t.Errorf("%v, want ErrServer and the time", err)
			}
			if where == "/model.safetensors" && !slices.Contains(f.asked(), "/model.safetensors bytes=5000-") {
				t.Error("it has not asked for the rest")
			}
			f.cause(nil)
			if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); err != nil { // without o, because a busy machine may need more time
				t.Errorf("afterwards: %v", err)
			}
		})
	}
	for value, want := range map[string]error{"": nil, "20": nil, "0": fault.ErrOption, "soon": fault.ErrOption} {
		f := newFake(t)
		t.Setenv("HF_HUB_DOWNLOAD_TIMEOUT", value)
		if _, err := hub.Pull(t.Context(), "org/name", hub.Options{Endpoint: f.hub.URL}); !errors.Is(err, want) {
			t.Errorf("HF_HUB_DOWNLOAD_TIMEOUT=%s: %v, want %v", value, err, want)
		}
	}
}

// TestCause verifies that Pull returns the cause of a context that ends between two attempts.
func TestCause(t *testing.T) {
	f := newFake(t)
	why := errors.New("the shop closes")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer hub.SetPause(func(int) time.Duration { cancel(why); return time.Hour })()
	f.cause(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	if _, err := hub.Pull(ctx, "org/name", hub.Options{}); !errors.Is(err, why) {
		t.Errorf("%v, want the cause", err)
	}
}

// TestReason verifies that the error contains the hub's reason for denying access.
func TestReason(t *testing.T) {
	f := newFake(t)
	f.cause(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("X-Error-Message", "ask its authors")
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); !errors.Is(err, fault.ErrAccess) || !strings.Contains(err.Error(), "ask its authors") {
		t.Errorf("%v, want ErrAccess with the hub's reason", err)
	}
}

// TestCancel cancels a download. The received data stays in the cache.
func TestCancel(t *testing.T) {
	f := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.cause(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/model.safetensors" {
			return false
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(f.files["model.safetensors"])))
		w.Write(f.files["model.safetensors"][:5000])
		w.(http.Flusher).Flush()
		time.AfterFunc(50*time.Millisecond, cancel)
		<-r.Context().Done()
		return true
	})
	if _, err := hub.Pull(ctx, "org/name", hub.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want Canceled", err)
	}
	f.asked()
	f.cause(nil)
	if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := f.asked(); !slices.Contains(got, "/model.safetensors bytes=5000-") {
		t.Errorf("it asked for %q, want bytes from 5000 on", got)
	}
}

// TestTwoProcesses pulls the same model several times at once, as processes of a service may.
func TestTwoProcesses(t *testing.T) {
	f := newFake(t)
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	n := 0
	for _, r := range f.asked() {
		if strings.HasPrefix(r, "/model.safetensors") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the weights were downloaded %d times", n)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
