package hub_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/hub"
	"github.com/avoformer/avoformer/internal/testenv"
)

// dialing returns a client that opens connections with dial.
func dialing(dial func(ctx context.Context) (net.Conn, error)) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}}
}

// broken returns options for networks and servers that fail. asked counts the requests that reach
// them.
func broken(t *testing.T, asked *atomic.Int32) map[string]hub.Options {
	serve := func(answer http.HandlerFunc) hub.Options {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); answer(w, r) }))
		t.Cleanup(s.Close)
		return hub.Options{Endpoint: s.URL}
	}
	status := func(code int) hub.Options {
		return serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	dial := func(f func(ctx context.Context) (net.Conn, error)) hub.Options {
		return hub.Options{Endpoint: "http://hub.invalid", Client: dialing(func(ctx context.Context) (net.Conn, error) { asked.Add(1); return f(ctx) })}
	}
	refused := httptest.NewServer(nil)
	refused.Close()
	return map[string]hub.Options{
		"a port that refuses": {Endpoint: refused.URL},
		"a name that does not exist": dial(func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "hub.invalid", IsNotFound: true}}
		}),
		"a server of names that does not answer": dial(func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }),
		"no answer":                              serve(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"an answer in drops": serve(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, " ")
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}),
		"500":               status(500),
		"503":               status(503),
		"too many requests": status(429),
		"no access":         status(403),
		"a page of a hotel": serve(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }),
	}
}

// TestBroken pulls a model that is in the cache while the network fails. A name is found in the
// cache after a short time, with a warning; a commit is found without a request.
func TestBroken(t *testing.T) {
	newFake(t)
	defer hub.SetPause(func(int) time.Duration { return time.Hour })() // no second attempt
	dir, err := hub.Pull(t.Context(), "org/name", hub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := hub.Pull(t.Context(), "org/name/a/b c.gguf", hub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range broken(t, new(atomic.Int32)) {
		if testenv.Quick() && (name == "no answer" || name == "an answer in drops") {
			continue // the subtest "a server of names that does not answer" also waits, and always runs
		}
		t.Run(name, func(t *testing.T) {
			o.Resolve = 100 * time.Millisecond
			var warnings []string
			o.Warn = func(w string) { warnings = append(warnings, w) }
			for model, want := range map[string]string{"org/name": dir, "org/name@main": dir, "org/name/a/b c.gguf": file} {
				warnings = nil
				start := time.Now()
				if got, err := hub.Pull(t.Context(), model, o); err != nil || got != want {
					t.Errorf("%s: %s, %v, want %s", model, got, err, want)
				}
				if took := time.Since(start); took > 10*time.Second { // generous, for slow machines
					t.Errorf("%s took %v", model, took)
				}
				if len(warnings) != 1 || !strings.Contains(warnings[0], model) || !strings.Contains(warnings[0], "cache") {
					t.Errorf("%s: the warnings are %q", model, warnings)
				}
			}
			warnings = nil
			var asked atomic.Int32
			again := broken(t, &asked)[name] // requests of the loop above may still be running
			o.Endpoint, o.Client = again.Endpoint, again.Client
			for model, want := range map[string]string{"org/name@" + commit: dir, "org/name@" + strings.ToUpper(commit): dir, "org/name/a/b c.gguf@" + commit: file} {
				if got, err := hub.Pull(t.Context(), model, o); err != nil || got != want {
					t.Errorf("%s: %s, %v, want %s", model, got, err, want)
				}
			}
			if n := asked.Load(); n != 0 || len(warnings) != 0 {
				t.Errorf("for a commit it asked %d times, and warned of %q", n, warnings)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			for _, model := range []string{"org/other", "org/name@v1", "org/name/other.gguf", "org/other@" + commit} {
				if got, err := hub.Pull(ctx, model, o); err == nil || got != "" {
					t.Errorf("%s, which the cache lacks: %s, %v", model, got, err)
				}
			}
		})
	}
}

// TestDefinite verifies that permanent errors of the hub, and the end of the context, are returned
// although the cache has the model.
func TestDefinite(t *testing.T) {
	f := newFake(t)
	if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); err != nil {
		t.Fatal(err)
	}
	why := errors.New("the shop closes")
	ctx, cancel := context.WithCancelCause(t.Context())
	code := http.StatusNotFound
	f.cause(func(w http.ResponseWriter, r *http.Request) bool {
		if code != 0 {
			w.WriteHeader(code)
			return true
		}
		cancel(why)
		<-r.Context().Done()
		return true
	})
	if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); !errors.Is(err, fault.ErrNoModel) {
		t.Errorf("%v, want ErrNoModel", err)
	}
	code = 0
	if _, err := hub.Pull(ctx, "org/name", hub.Options{}); !errors.Is(err, why) {
		t.Errorf("%v, want the cause", err)
	}
}

// TestTrees verifies that Pull uses the cache's list of a commit's files. Without a list, as after
// a pull by an older program, it asks the hub once; missing files are pulled.
func TestTrees(t *testing.T) {
	f := newFake(t)
	defer hub.SetPause(func(int) time.Duration { return 0 })()
	dir, err := hub.Pull(t.Context(), "org/name", hub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pinned, list := "org/name@"+commit, filepath.Join(filepath.Dir(filepath.Dir(dir)), "trees", commit+".json")
	written, err := os.ReadFile(list)
	if err != nil || !strings.Contains(string(written), `"format_version": 1`) || !strings.Contains(string(written), `"onnx/model.onnx": {`) {
		t.Errorf("the list is %s, %v", written, err)
	}
	request := []string{"/api/models/org/name/revision/" + commit}
	for name, text := range map[string]string{"": "", "damaged": `{"format_version": 1, "files": {"config.json"`, "of a later version": `{"format_version": 2, "files": {}}`,
		"with a path out of the folder": `{"format_version": 1, "files": {"../../x": {"size": 1, "blob_id": "` + commit + `"}}}`} {
		if err := os.WriteFile(list, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		f.asked()
		f.cause(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true })
		warned := false
		if got, err := hub.Pull(t.Context(), pinned, hub.Options{Warn: func(string) { warned = true }}); err != nil || got != dir || !warned {
			t.Errorf("a list %s, and a hub that fails: %s, %v, warned %v", name, got, err, warned)
		}
		if got := f.asked(); !slices.Equal(got, request) {
			t.Errorf("a list %s: it asked for %q, want %q", name, got, request)
		}
		f.cause(nil)
		for i := range 2 {
			if got, err := hub.Pull(t.Context(), pinned, hub.Options{}); err != nil || got != dir {
				t.Errorf("a list %s: %s, %v", name, got, err)
			}
			if got := f.asked(); !slices.Equal(got, request[:1-i]) {
				t.Errorf("a list %s, the %d. time: it asked for %q", name, i+1, got)
			}
		}
	}
	for name, spoil := range map[string]func(path string) error{"missing": os.Remove, "too short": func(path string) error { return os.Truncate(path, 5) }} {
		if err := spoil(filepath.Join(dir, "model.safetensors")); err != nil {
			t.Fatal(err)
		}
		f.asked()
		f.cause(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true })
		for _, model := range []string{"org/name", pinned} {
			if got, err := hub.Pull(t.Context(), model, hub.Options{}); !errors.Is(err, fault.ErrServer) {
				t.Errorf("%s, a file is %s: %s, %v, want ErrServer", model, name, got, err)
			}
		}
		f.cause(nil)
		if got, err := hub.Pull(t.Context(), pinned, hub.Options{}); err != nil || got != dir {
			t.Errorf("a file is %s: %s, %v", name, got, err)
		}
		if info, err := os.Stat(filepath.Join(dir, "model.safetensors")); err != nil || info.Size() != int64(len(f.files["model.safetensors"])) {
			t.Errorf("a file was %s: %v", name, err)
		}
	}
}

// TestReadOnly pulls a complete model from a cache that cannot be written.
func TestReadOnly(t *testing.T) {
	newFake(t)
	dir, err := hub.Pull(t.Context(), "org/name", hub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Dir(filepath.Dir(dir))
	for _, path := range []string{filepath.Join(repo, "trees"), filepath.Join(filepath.Dir(repo), ".locks")} { // a file in place of a folder, because root may write anywhere
		if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, nil, 0o444)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := hub.Pull(t.Context(), "org/name", hub.Options{}); err != nil || got != dir {
		t.Errorf("%s, %v, want %s", got, err, dir)
	}
}

// TestPatience verifies that environment variables set the time to wait, and whether Pull sends
// requests at all.
func TestPatience(t *testing.T) {
	f := newFake(t)
	if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]error{"": nil, "20": nil, "0": fault.ErrOption, "soon": fault.ErrOption} {
		t.Setenv("HF_HUB_ETAG_TIMEOUT", value)
		if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); !errors.Is(err, want) {
			t.Errorf("HF_HUB_ETAG_TIMEOUT=%s: %v, want %v", value, err, want)
		}
	}
	t.Setenv("HF_HUB_ETAG_TIMEOUT", "1")
	f.cause(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
	warning := ""
	if _, err := hub.Pull(t.Context(), "org/name", hub.Options{Warn: func(w string) { warning = w }}); err != nil || !strings.Contains(warning, "within 1s") {
		t.Errorf("%v, %q, want a warning with the time", err, warning)
	}
	if _, err := hub.Pull(t.Context(), "org/name", hub.Options{Resolve: -1, Idle: 50 * time.Millisecond, Warn: func(w string) { warning = w }}); err != nil || !strings.Contains(warning, "nothing for 50ms") {
		t.Errorf("%v, %q, want a warning that the server has sent nothing", err, warning)
	}
	f.cause(nil)
	for _, c := range []struct {
		hub, transformers string
		want              int
	}{{"", "", 1}, {"1", "", 0}, {"", "1", 0}, {"0", "1", 1}, {"1", "0", 0}} {
		t.Setenv("HF_HUB_OFFLINE", c.hub)
		t.Setenv("TRANSFORMERS_OFFLINE", c.transformers)
		f.asked()
		if _, err := hub.Pull(t.Context(), "org/name", hub.Options{}); err != nil {
			t.Error(err)
		}
		if got := f.asked(); len(got) != c.want {
			t.Errorf("%+v: it asked for %q", c, got)
		}
	}
}
