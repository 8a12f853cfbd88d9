package models_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// TestPipes opens a pipe that nobody writes to and a device without end, themselves and as
// config.json.
func TestPipes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "config.json")
	tftest.NoError(t, syscall.Mkfifo(pipe, 0o600))
	device := filepath.Join(t.TempDir(), "config.json")
	tftest.NoError(t, os.Symlink("/dev/zero", device))
	for _, path := range []string{pipe, filepath.Dir(pipe), device, filepath.Dir(device)} {
		if _, err := models.Open(path, models.Options{}); !errors.Is(err, fault.ErrFolder) {
			t.Errorf("%s: error %v, want ErrFolder", path, err)
		}
	}
}
