package hub_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/tftest"
)

// TestStat: the error for a missing folder says how to download models, and names similar models in
// the cache.
func TestStat(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("HF_HUB_CACHE", cache)
	for name, file := range map[string]string{"sentence-transformers/all-MiniLM-L6-v2": "config.json", "other/all-MiniLM-L12-v2": "config.json", "Qwen/Qwen3-0.6B-GGUF": "Qwen3-0.6B-Q8_0.gguf", "not/pulled": ""} {
		repo := hub.Repository(cache, name)
		tftest.NoError(t, os.MkdirAll(filepath.Join(repo, "refs"), 0o755))
		tftest.NoError(t, os.MkdirAll(filepath.Join(repo, "snapshots", "abc"), 0o755))
		if file != "" {
			tftest.NoError(t, os.WriteFile(filepath.Join(repo, "refs", "main"), []byte("abc"), 0o644))
			tftest.NoError(t, os.WriteFile(filepath.Join(repo, "snapshots", "abc", file), nil, 0o644))
		}
	}
	if _, err := hub.Stat(hub.Folder(hub.Repository(cache, "other/all-MiniLM-L12-v2"))); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]string{
		"all-MiniLM-L6-v2":                   "the cache has sentence-transformers/all-MiniLM-L6-v2, other/all-MiniLM-L12-v2: the command takes hf://sentence-transformers/all-MiniLM-L6-v2, and hub.Pull in Go returns the folder",
		"models/all-minilm-l6-v3":            "the cache has sentence-transformers/all-MiniLM-L6-v2: ",
		"MiniLM-L12":                         "the cache has other/all-MiniLM-L12-v2: ",
		"Qwen3-0.6B-Q8_0.gguf":               "the cache has Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf: the command takes hf://Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf",
		"pulled":                             "avoformer pull org/name or hub.Pull in Go, or give the command hf://org/name",
		"intfloat/e5-small":                  "avoformer pull intfloat/e5-small or hub.Pull in Go, or give the command hf://intfloat/e5-small",
		"./x":                                "avoformer pull org/name",
		"":                                   "avoformer pull org/name",
		"hf://sentence-transformers/all-Mpi": "in Go, hub.Pull downloads the model",
	} {
		_, err := hub.Stat(path)
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path+": no") {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
}
