package hub_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/hub"
	"github.com/avoformer/avoformer/internal/tftest"
)

// TestIrregularRefs replaces refs/main with a pipe without a writer, an endless device, and a file
// that is larger than memory. Pull does not read them.
func TestIrregularRefs(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"long": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<42))
		},
	} {
		cache := t.TempDir()
		refs := filepath.Join(cache, "models--org--name", "refs")
		tftest.NoError(t, os.MkdirAll(refs, 0o700))
		tftest.NoError(t, make(filepath.Join(refs, "main")))
		if _, err := hub.Pull(t.Context(), "org/name", hub.Options{Offline: true, Cache: cache}); !errors.Is(err, fault.ErrOffline) {
			t.Errorf("%s: error %v, want ErrOffline", name, err)
		}
	}
}
