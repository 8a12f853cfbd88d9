package main

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestPull downloads a model from a server with the hub's API, by the command pull and as DIR of
// another command.
func TestPull(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	folder := "../../text/testdata/embed"
	var down atomic.Bool // the server fails
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, ok := strings.CutPrefix(r.URL.Path, "/org/name/resolve/"+commit+"/"); ok {
			http.ServeFile(w, r, filepath.Join(folder, path))
			return
		}
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if r.URL.Path != "/api/models/org/name/revision/main" {
			http.NotFound(w, r)
			return
		}
		var siblings []map[string]any
		filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if data, err := os.ReadFile(path); err == nil {
				sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
				rel, _ := filepath.Rel(folder, path)
				siblings = append(siblings, map[string]any{"rfilename": filepath.ToSlash(rel), "size": len(data), "blobId": hex.EncodeToString(sum[:])})
			}
			return err
		})
		json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": siblings})
	}))
	defer server.Close()
	t.Setenv("HF_HOME", t.TempDir())
	t.Setenv("HF_ENDPOINT", server.URL)
	for _, name := range []string{"HF_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_CACHE"} {
		t.Setenv(name, "")
	}
	call := func(in string, args ...string) (out, errs string, code int) {
		var o, e bytes.Buffer
		code = run(t.Context(), args, strings.NewReader(in), &o, &e)
		return o.String(), e.String(), code
	}
	out, errs, code := call("", "pull", "org/name")
	dir := strings.TrimSpace(out)
	if want := filepath.Join(os.Getenv("HF_HOME"), "hub", "models--org--name", "snapshots", commit); code != exitOK || dir != want {
		t.Fatalf("pull: %d, %q, %q, want %s", code, out, errs, want)
	}
	var said map[string]string
	if out, errs, code := call("", "pull", "-json", "hf://org/name"); code != exitOK || json.Unmarshal([]byte(out), &said) != nil || len(said) != 2 || said["name"] != "org/name" || said["folder"] != dir {
		t.Errorf("pull -json: %d, %q, %q", code, out, errs)
	}
	want, _, _ := call("some words\n", "embed", folder)
	if got, errs, _ := call("some words\n", "embed", "hf://org/name"); got != want || want == "" {
		t.Errorf("embed hf://org/name prints %.60q, %q, want %.60q", got, errs, want)
	}
	down.Store(true)
	for model, warned := range map[string]bool{"hf://org/name": true, "hf://org/name@" + commit: false} {
		if got, errs, code := call("some words\n", "embed", model); code != exitOK || got != want || strings.Contains(errs, "warning: org/name: using the last pulled files of the cache") != warned {
			t.Errorf("embed %s without the server: %d, %.60q, %q, want a warning: %v", model, code, got, errs, warned)
		}
		if got, errs, code := call("some words\n", "embed", "-offline", model); code != exitOK || got != want || errs != "" {
			t.Errorf("embed -offline %s: %d, %.60q, %q", model, code, got, errs)
		}
	}
	if _, errs, code := call("", "pull", "-offline", "org/none"); code != exitFailed || !strings.Contains(errs, "not in the cache") {
		t.Errorf("pull -offline of a model that the cache lacks: %d, %q", code, errs)
	}
	down.Store(false)
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"pull", "org/none"}, exitFailed, "no such model"},
		{[]string{"pull", "../x"}, exitUsage, "../x"},
		{[]string{"pull", "-files", "[", "org/name"}, exitUsage, "-files"},
		{[]string{"info", "org/name"}, exitFailed, "org/name: no such folder or file; the cache has org/name: the command takes hf://org/name, and hub.Pull"},
		{[]string{"info", "Nmae"}, exitFailed, "the cache has org/name: the command takes hf://org/name"},
		{[]string{"serve", "elsewhere/bert"}, exitFailed, "avoformer pull elsewhere/bert"},
		{[]string{"rm", "org/name@main"}, exitUsage, "only a whole model"},
		{[]string{"rm", "org/none"}, exitFailed, "the cache has no org/none"},
		{[]string{"generate", "-draft", "hf://org/none", testdata + "generate", "x"}, exitFailed, "no such model"},
	} {
		if _, errs, code := call("", c.args...); code != c.code || !strings.Contains(errs, c.text) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: %d, %q, want %d and a line with %q", c.args, code, errs, c.code, c.text)
		}
	}
	if out, _, _ := call("", "pull", "-files", "modules*", "org/name"); strings.TrimSpace(out) != dir {
		t.Errorf("pull -files prints %q", out)
	}
	if out, errs, code := call("", "list"); code != exitOK || !strings.HasPrefix(out, "hf://org/name\t0.") || !strings.HasSuffix(out, " MB\t"+dir+"\n") {
		t.Errorf("list: %d, %q, %q", code, out, errs)
	}
	var listed struct {
		Name, Folder     string
		Revisions, Files []string
		Bytes            int64
	}
	if out, errs, code := call("", "list", "-json"); code != exitOK || json.Unmarshal([]byte(out), &listed) != nil || listed.Name != "org/name" || listed.Folder != dir || len(listed.Revisions) != 1 || len(listed.Files) < 5 || listed.Bytes < 1000 {
		t.Errorf("list -json: %d, %q, %q", code, out, errs)
	}
	if out, errs, code := call("", "rm", "-json", "hf://org/name"); code != exitOK || !strings.HasPrefix(out, `{"bytes":`) || !strings.HasSuffix(out, `,"name":"org/name"}`+"\n") {
		t.Errorf("rm: %d, %q, %q", code, out, errs)
	}
	if out, errs, code := call("", "list"); code != exitOK || out != "" || !strings.Contains(errs, "no models") {
		t.Errorf("list after rm: %d, %q, %q", code, out, errs)
	}
}
