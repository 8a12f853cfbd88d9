package hub_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/tftest"
)

// TestFolder resolves a model's folder, including folders whose refs/main tries to lead elsewhere.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if got := hub.Folder(dir); got != dir {
		t.Errorf("a plain folder is %s, want %s", got, dir)
	}
	tftest.NoError(t, os.Mkdir(filepath.Join(dir, "refs"), 0o700))
	for ref, want := range map[string]string{"abc123": "abc123", "abc123\n": "abc123", "../../elsewhere": "elsewhere"} {
		tftest.NoError(t, os.WriteFile(filepath.Join(dir, "refs", "main"), []byte(ref), 0o600))
		if got := hub.Folder(dir); got != filepath.Join(dir, "snapshots", want) {
			t.Errorf("refs/main %q leads to %s, want snapshots/%s", ref, got, want)
		}
	}
}

// TestNameOf: only paths of the cache have names of models.
func TestNameOf(t *testing.T) {
	for path, want := range map[string]string{
		"/c/hub/models--org--name": "org/name", "/c/models--org--name/snapshots/0123": "org/name", "c/models--org--a.b-c/snapshots/0123/sub/x.gguf": "org/a.b-c",
		"models--bert/snapshots/1": "bert", "/c/models--org--name/other": "", "/c/org--name/snapshots/1": "", "/models/name": "", "": "", "/c/models--": "",
	} {
		if got := hub.NameOf(filepath.FromSlash(path)); got != want {
			t.Errorf("%s is of %q, want %q", path, got, want)
		}
	}
}
