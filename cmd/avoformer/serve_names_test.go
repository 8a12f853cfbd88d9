//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ask sends a POST with a body, or a GET without one, and returns the status and the body of the
// answer.
func (s *server) ask(t *testing.T, path, body string) (status int, answer string) {
	t.Helper()
	resp, err := http.Get("http://" + s.addr + path)
	if body != "" {
		resp, err = http.Post("http://"+s.addr+path, "application/json", strings.NewReader(body))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// TestServeNames: a model of the hub has two names, its name on the hub and the last part of that
// name, but not the name of its snapshot. NAME=DIR replaces DIR. Flags for one model accept each of
// its names.
func TestServeNames(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	cache := filepath.Join(t.TempDir(), "hub")
	snapshot := func(name string) string {
		dir := filepath.Join(cache, name, "snapshots", commit)
		if err := os.CopyFS(dir, os.DirFS(testdata+"embed")); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	a, b, c := snapshot("models--org--a-model"), snapshot("models--org--twice"), snapshot("models--else--twice")
	s := startServer(t, "-weights", "a-model=int8", "-max-length", "org/twice=8", a, b, c, "mine,my="+testdata+"embed", "plain="+testdata+"embed")
	if !strings.Contains(s.log(), "serves org/a-model, org/twice, else/twice, mine, plain,") {
		t.Error(s.log())
	}
	for name, want := range map[string]int{"org/a-model": 200, "a-model": 200, "org/twice": 200, "else/twice": 200, "twice": 404, commit: 404, "mine": 200, "plain": 200, "embed": 404} {
		if status, answer := s.ask(t, "/v1/embeddings", `{"model":"`+name+`","input":"hello"}`); status != want {
			t.Errorf("%s: %d %.100s, want %d", name, status, answer, want)
		}
		for _, path := range []string{name, strings.ReplaceAll(name, "/", "%2F")} {
			if status, answer := s.ask(t, "/v1/models/"+path, ""); status != want {
				t.Errorf("/v1/models/%s: %d %.100s, want %d", path, status, answer, want)
			}
		}
	}
	if _, answer := s.ask(t, "/v1/models/a-model", ""); !strings.Contains(answer, `"id":"org/a-model"`) || !strings.Contains(answer, `"aliases":["a-model"]`) {
		t.Error(answer)
	}
	if _, answer := s.ask(t, "/info", ""); !strings.Contains(answer, `"model_dtype":"int8"`) {
		t.Error(answer)
	}
	if code, _, errs := call(t, "", "serve", "=x"); code != exitUsage || !strings.Contains(errs, "want NAME=DIR") {
		t.Error(code, errs)
	}
}

// TestServeEnvironment: environment variables set flags that the command line does not give.
func TestServeEnvironment(t *testing.T) {
	for name, value := range map[string]string{"MODEL": "one=" + testdata + "embed;two,second=" + testdata + "embed", "WEIGHTS": "bf16;two=int8", "MAX_BATCH": "1", "LAZY": "true", "PORT": "tcp://10.0.0.1:80"} {
		t.Setenv("AVOFORMER_SERVE_"+name, value)
	}
	s := startServer(t)
	if !strings.Contains(s.log(), "AVOFORMER_SERVE_PORT stands for no flag of avoformer serve") || strings.Count(s.log(), "warning") != 1 {
		t.Error(s.log())
	}
	if status, answer := s.ask(t, "/v1/embeddings", `{"model":"second","input":"a"}`); status != 200 || !strings.Contains(answer, `"model":"two"`) {
		t.Error(status, answer)
	}
	if status, answer := s.ask(t, "/v1/embeddings", `{"model":"one","input":["a","b"]}`); status != 413 {
		t.Error(status, answer)
	}
	if _, answer := s.ask(t, "/info", ""); !strings.Contains(answer, `"model_dtype":"bf16"`) {
		t.Error(answer)
	}
	given := startServer(t, "-max-batch", "2")
	if status, answer := given.ask(t, "/v1/embeddings", `{"model":"one","input":["a","b"]}`); status != 200 {
		t.Error("the command line does not take precedence:", status, answer)
	}
	t.Setenv("AVOFORMER_SERVE_MAX_BATCH", "many")
	if code, _, errs := call(t, "", "serve", testdata+"embed"); code != exitUsage || !strings.Contains(errs, `AVOFORMER_SERVE_MAX_BATCH: -max-batch "many"`) {
		t.Error(code, errs)
	}
}

// TestServeProjector: -mmproj opens the encoder of images that it names, for all generators or for
// one, and -images no contradicts it.
func TestServeProjector(t *testing.T) {
	const files = "../../models/testdata/gguf-images/"
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(files+"gemma3")); err != nil {
		t.Fatal(err)
	}
	projector, reads := filepath.Join(dir, "encoder.gguf"), "reads="+filepath.Join(dir, "model.gguf")
	if err := os.Rename(filepath.Join(dir, "mmproj-model.gguf"), projector); err != nil { // where nothing finds it unnamed
		t.Fatal(err)
	}
	image, err := os.ReadFile("../../models/testdata/images/gemma3/a.png")
	if err != nil {
		t.Fatal(err)
	}
	about := func(model string) string {
		return fmt.Sprintf(`{"model": %q, "max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,%s"}}]}]}`, model, base64.StdEncoding.EncodeToString(image))
	}
	for _, args := range [][]string{
		{"-mmproj", "reads=" + projector, reads, "text=" + testdata + "generate"},
		{"-mmproj", projector, reads, "embed=" + testdata + "embed"}, // a flag for all is for generators
	} {
		s := startServer(t, args...)
		if status, answer := s.ask(t, "/v1/chat/completions", about("reads")); status != 200 {
			t.Errorf("%q: %d %s", args, status, answer)
		}
		if status, answer := s.ask(t, "/v1/chat/completions", about("text")); status == 200 {
			t.Errorf("%q: text reads images: %s", args, answer)
		}
	}
	for want, args := range map[string][]string{
		"Projector":                {"-mmproj", projector, "-images", "no", reads},
		"no model has that name":   {"-mmproj", "other=" + projector, reads},
		"has mmproj in its name":   {"-images", "yes", reads},
		"for models in GGUF files": {"-mmproj", projector, testdata + "generate"},
	} {
		if code, _, errs := call(t, "", append([]string{"serve", "-addr", "127.0.0.1:0"}, args...)...); code == exitOK || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d, %s, want %q", args, code, errs, want)
		}
	}
}
