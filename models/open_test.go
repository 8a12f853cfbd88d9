package models_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// TestIrregularFiles opens folders in which a file is a pipe, a device or a folder. To open the
// pipe would wait for ever.
func TestIrregularFiles(t *testing.T) {
	whole := modelstest.Folder(t, "bert-pool-dense")
	whole["generation_config.json"] = &fstest.MapFile{Data: []byte("{}")}
	whole["model.safetensors.index.json"] = &fstest.MapFile{Data: []byte("{}")}
	if _, err := models.OpenFS(whole, models.Options{}); err != nil {
		t.Fatal(err)
	}
	for name := range whole {
		for _, mode := range []fs.FileMode{fs.ModeNamedPipe, fs.ModeDevice | fs.ModeCharDevice, fs.ModeDir} {
			m := modelstest.With(whole, name, nil)
			if name == "model.safetensors.index.json" { // is read only without the file itself
				delete(m, "model.safetensors")
			}
			m[name].Mode = mode
			if _, err := models.OpenFS(m, models.Options{}); !errors.Is(err, fault.ErrFolder) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s as %v: error %v, want ErrFolder that names it", name, mode, err)
			}
		}
	}
}

// TestPointers opens folders that were cloned without Git LFS: the error says so.
func TestPointers(t *testing.T) {
	pointer := []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 90868376\n")
	for _, name := range []string{"model.safetensors", "pytorch_model.bin", "config.json", "model.gguf"} {
		dir := t.TempDir()
		tftest.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"model_type": "bert"}`), 0o600))
		tftest.NoError(t, os.WriteFile(filepath.Join(dir, name), pointer, 0o600))
		if filepath.Ext(name) == ".gguf" {
			dir = filepath.Join(dir, name)
		}
		_, err := models.Open(dir, models.Options{})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "pointer of Git LFS") ||
			!errors.Is(err, fault.ErrFolder) && !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s: %v, want an error of the folder that tells the pointer", name, err)
		}
	}
}

// TestNoModel: a file that is neither a folder nor a GGUF file is said to be neither.
func TestNoModel(t *testing.T) {
	for _, text := range []string{"", "notes", "GGU"} {
		path := filepath.Join(t.TempDir(), "notes.txt")
		tftest.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := models.Open(path, models.Options{}); !errors.Is(err, fault.ErrFolder) || !strings.Contains(err.Error(), "neither a folder nor a GGUF file") {
			t.Errorf("%q: %v, want ErrFolder", text, err)
		}
	}
}

// TestPlanned: what sees the planned model may refuse it.
func TestPlanned(t *testing.T) {
	refused := errors.New("refused")
	for _, dir := range []string{own + "/bert", "testdata/gguf/llama/f32.gguf"} {
		for _, want := range []error{refused, nil} {
			calls := 0
			m, err := models.Open(dir, models.Options{Planned: func(m *models.Model) error {
				calls++
				if m.Footprint.Weights == 0 || m.Encoder == nil && m.LM == nil {
					t.Errorf("%s: %+v before weights are read", dir, m.Footprint)
				}
				return want
			}})
			if calls != 1 || !errors.Is(err, want) || (m == nil) != (want != nil) {
				t.Errorf("%s: %d calls, model %v, error %v, want %v", dir, calls, m != nil, err, want)
			}
		}
	}
}
