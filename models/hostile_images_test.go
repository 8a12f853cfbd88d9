package models_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// TestOtherTypesOfImages does the same as TestOtherTypes for models that read images, and reads one
// with those that open.
func TestOtherTypesOfImages(t *testing.T) {
	folders := tftest.Must(filepath.Glob("testdata/images/*"))(t)
	for n, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			m := fstest.MapFS{}
			for _, name := range []string{"config.json", "model.safetensors"} {
				m[name] = &fstest.MapFile{Data: tftest.Must(os.ReadFile(filepath.Join(folder, name)))(t)}
			}
			var doc any
			tftest.NoError(t, json.Unmarshal(m["config.json"].Data, &doc))
			values(doc, func(v any) { doc = v }, "config.json", func(at string, set func(v any)) {
				for _, v := range otherValues {
					if n++; !chosen(n) {
						continue
					}
					set(v)
					m["config.json"] = &fstest.MapFile{Data: tftest.Must(json.Marshal(doc))(t)}
					readImage(t, fmt.Sprintf("%s: %s = %v", folder, at, v), m)
				}
			})
		})
	}
}

// readImage reads an image if the model in m opens.
func readImage(t *testing.T, what string, m fstest.MapFS) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: %v", what, r)
		}
	}()
	opened, err := models.OpenFS(m, models.Options{Images: true, MemoryLimit: 1 << 28})
	if errors.Is(err, fault.ErrOption) {
		return // another architecture
	}
	refused(t, what, err)
	if err != nil {
		return
	}
	const side = 48
	rows, err := opened.Images.Rows(side, side)
	if err != nil || rows > 1<<12 {
		return
	}
	refused(t, what, opened.Images.EncodeImages(new(models.Workspace), make([]float32, rows*opened.Images.Dim()), make([]float32, 3*side*side), 1, side, side))
}
