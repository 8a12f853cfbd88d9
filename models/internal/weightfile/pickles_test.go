package weightfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// pickled is the folder whose weights testdata/pickles has in the form of torch.save.
const pickled = "distilbert-classify"

// TestPickles opens a folder whose weights torch.save wrote, as one file and in shards, and
// compares it with what transformers computes for the same weights in safetensors.
func TestPickles(t *testing.T) {
	for _, name := range []string{"one", "shards"} {
		t.Run(name, func(t *testing.T) { modelstest.Compare(t, pickledFolder(t, name)) })
	}
}

// TestSafetensorsFirst prefers safetensors where a folder has both, as transformers does.
func TestSafetensorsFirst(t *testing.T) {
	dir := pickledFolder(t, "one")
	tftest.NoError(t, os.WriteFile(filepath.Join(dir, "pytorch_model.bin"), []byte("no checkpoint"), 0o600))
	if _, err := models.Open(dir, models.Options{}); !errors.Is(err, fault.ErrFormat) {
		t.Errorf("a broken pytorch_model.bin: %v, want fault.ErrFormat", err)
	}
	weights, err := os.ReadFile(filepath.Join(modelstest.Own, pickled, "model.safetensors"))
	tftest.NoError(t, err)
	tftest.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), weights, 0o600))
	modelstest.Compare(t, dir)
}

// pickledFolder returns a folder with the weights in testdata/pickles/name.
func pickledFolder(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	tftest.NoError(t, os.CopyFS(dir, os.DirFS(modelstest.Testdata("pickles/"+name))))
	for _, file := range []string{"config.json", "expected.safetensors"} {
		data, err := os.ReadFile(filepath.Join(modelstest.Own, pickled, file))
		tftest.NoError(t, err)
		tftest.NoError(t, os.WriteFile(filepath.Join(dir, file), data, 0o600))
	}
	return dir
}
