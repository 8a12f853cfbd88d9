package hub_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/tftest"
)

// TestFolder resolves a model's folder, also where refs/main tries to lead elsewhere.
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
