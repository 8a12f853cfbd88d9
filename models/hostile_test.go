package models_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// hostile are values of every type that JSON has, and sizes that no file holds.
var hostile = []string{`null`, `true`, `"x"`, `-1`, `0`, `1`, `7`, `0.5`, `1e18`, `1000000000`, `2147483647`, `1e-30`, `1e300`, `[]`, `[3]`, `{}`, `{"a": 1}`}

// sentinels are what errors of Open match.
var sentinels = []error{
	models.ErrConfig, models.ErrFolder, models.ErrModelType, transformer.ErrConfig, transformer.ErrShape, transformer.ErrTooLong,
	transformer.ErrMissing, transformer.ErrMisshapen, transformer.ErrLeftOver, safetensors.ErrFormat,
}

// opened counts what openHostile did.
var opened struct{ folders, errors int }

// openHostile opens a folder, which may give an error that matches a sentinel, but must
// neither panic nor allocate what the configuration merely claims.
func openHostile(t *testing.T, what string, folder fstest.MapFS) {
	t.Helper()
	const most = 64 << 20 // of folders of some 100 KB
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: panic: %v", what, r)
		}
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := models.OpenFS(folder)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%s: %d MB allocated", what, n>>20)
	}
	opened.folders++
	if err == nil {
		return
	}
	opened.errors++
	for _, s := range sentinels {
		if errors.Is(err, s) {
			return
		}
	}
	t.Errorf("%s: error %v matches none of the package's", what, err)
}

// TestHostileConfig replaces each field of each configuration by each value.
func TestHostileConfig(t *testing.T) {
	entries, err := os.ReadDir(own)
	if err != nil {
		t.Fatal(err)
	}
	for i, entry := range entries {
		if testing.Short() && i%12 != 0 {
			continue
		}
		t.Run(entry.Name(), func(t *testing.T) {
			dir := filepath.Join(own, entry.Name())
			folder := fstest.MapFS{}
			files, _ := filepath.Glob(filepath.Join(dir, "*.*"))
			for _, f := range files {
				data, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				folder[filepath.Base(f)] = &fstest.MapFile{Data: data}
			}
			if folder["config.json"] == nil {
				t.Skip("no model")
			}
			var config map[string]any
			if err := json.Unmarshal(folder["config.json"].Data, &config); err != nil {
				t.Fatal(err)
			}
			change(t, folder, config, config, entry.Name())
		})
	}
	t.Logf("%d folders, %d errors", opened.folders, opened.errors)
	if opened.errors < opened.folders/5 {
		t.Error("few errors: do the configurations change?")
	}
}

// change replaces each field of part, an object within config.
func change(t *testing.T, folder fstest.MapFS, config, part map[string]any, path string) {
	for field, old := range part {
		if sub, ok := old.(map[string]any); ok && field != "id2label" && field != "label2id" {
			change(t, folder, config, sub, path+"."+field)
		}
		for _, value := range hostile {
			part[field] = json.RawMessage(value)
			text, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			folder["config.json"] = &fstest.MapFile{Data: text}
			openHostile(t, fmt.Sprintf("%s.%s = %s", path, field, value), folder)
		}
		part[field] = old
	}
}

// TestHostileWeights cuts files off, and gives tensors other shapes and places.
func TestHostileWeights(t *testing.T) {
	for _, name := range []string{"llama", "llama-rope3-new", "bert", "t5", "whisper", "vit"} {
		dir := filepath.Join(own, name)
		files, err := filepath.Glob(filepath.Join(dir, "*.*"))
		if err != nil {
			t.Fatal(err)
		}
		folder := fstest.MapFS{}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			folder[filepath.Base(f)] = &fstest.MapFile{Data: data}
		}
		for file, whole := range folder {
			if strings.HasPrefix(file, "expected") {
				continue
			}
			for n := 0; n < len(whole.Data); n += 1 + len(whole.Data)/61 {
				folder[file] = &fstest.MapFile{Data: whole.Data[:n]}
				openHostile(t, fmt.Sprintf("%s: the first %d bytes of %s", name, n, file), folder)
			}
			for _, c := range [][2]string{{`"shape":[`, `"shape":[9`}, {`"data_offsets":[`, `"data_offsets":[1`}, {`"BF16"`, `"F8_E5"`}, {`"F32"`, `"I32"`}, {"weight_map", "weights_map"}, {"-00001-", "-00009-"}} {
				folder[file] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(whole.Data), c[0], c[1]))}
				openHostile(t, fmt.Sprintf("%s: %s instead of %s in %s", name, c[1], c[0], file), folder)
			}
			folder[file] = whole
		}
	}
}
