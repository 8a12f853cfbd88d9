package hub_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/hub"
)

// TestList lists a model that was pulled completely and one that was not, and no other entries of
// the cache.
func TestList(t *testing.T) {
	f := newFake(t)
	cache := filepath.Join(os.Getenv("HF_HOME"), "hub")
	if list, err := hub.List(hub.Options{}); err != nil || len(list) != 0 {
		t.Fatalf("%v, %v of no cache", list, err)
	}
	dir, err := hub.Pull(t.Context(), "org/name", hub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"datasets--org--data", "models--a--half/blobs", ".locks/models--x--y"} {
		if err := os.MkdirAll(filepath.Join(cache, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, size := range map[string]int{"models--a--half/blobs/0123.part": 700, "models--file": 1} {
		if err := os.WriteFile(filepath.Join(cache, name), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := hub.List(hub.Options{Offline: true})
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if h := list[0]; h.Name != "a/half" || h.Folder != "" || h.Bytes != 700 || h.Files != nil || h.Revisions != nil {
		t.Errorf("half a model: %+v", h)
	}
	tree, err := os.ReadFile(filepath.Join(cache, "models--org--name", "trees", commit+".json"))
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(commit) + len(tree))                                                // refs/main, and the list of files
	for _, file := range []string{"config.json", "model.safetensors", "tokenizer.json"} { // 1_Pooling/config.json shares the blob of tokenizer.json
		size += int64(len(f.files[file]))
	}
	want := []string{"1_Pooling/config.json", "config.json", "model.safetensors", "tokenizer.json"}
	if m := list[1]; m.Name != "org/name" || m.Folder != dir || !slices.Equal(m.Files, want) || !slices.Equal(m.Revisions, []string{"main"}) || m.Bytes < size || m.Bytes > size+100 {
		t.Errorf("%+v, want %v of %d bytes in %s", m, want, size, dir)
	}
}

// TestRemove removes only the named model. The model can be pulled again, also after an interrupted
// removal.
func TestRemove(t *testing.T) {
	f := newFake(t)
	cache := filepath.Join(os.Getenv("HF_HOME"), "hub")
	if err := os.MkdirAll(filepath.Join(cache, "models--org--name2"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"org/name": fault.ErrNoModel, "org/name@main": fault.ErrName, "org/name/config.json": fault.ErrName, "../name2": fault.ErrName, "org/..": fault.ErrName} {
		if _, err := hub.Remove(name, hub.Options{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	for range 2 {
		dir, err := hub.Pull(t.Context(), "org/name", hub.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := hub.Remove("hf://org/name", hub.Options{}); err != nil || n < int64(len(f.files["model.safetensors"])) {
			t.Errorf("%d bytes, %v", n, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s still exists: %v", dir, err)
		}
		// An interrupted removal leaves this folder.
		if err := os.MkdirAll(filepath.Join(cache, ".removed--org--name", "blobs"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.cause(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusNotFound); return true })
	list, err := hub.List(hub.Options{})
	if err != nil || len(list) != 1 || list[0].Name != "org/name2" {
		t.Errorf("%+v, %v are left", list, err)
	}
}
