package models_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
)

// TestIrregularFiles opens folders in which a file is a pipe, a device or a folder. To open
// the pipe would wait for ever.
func TestIrregularFiles(t *testing.T) {
	whole := folder(t, "bert-pool-dense")
	whole["generation_config.json"] = &fstest.MapFile{Data: []byte("{}")}
	whole["model.safetensors.index.json"] = &fstest.MapFile{Data: []byte("{}")}
	if _, err := models.OpenFS(whole, models.Options{}); err != nil {
		t.Fatal(err)
	}
	for name := range whole {
		for _, mode := range []fs.FileMode{fs.ModeNamedPipe, fs.ModeDevice | fs.ModeCharDevice, fs.ModeDir} {
			m := with(whole, name, nil)
			m[name].Mode = mode
			if _, err := models.OpenFS(m, models.Options{}); !errors.Is(err, fault.ErrFolder) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s as %v: error %v, want ErrFolder that names it", name, mode, err)
			}
		}
	}
}
