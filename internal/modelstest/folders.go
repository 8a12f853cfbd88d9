package modelstest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// Own is the folder of the tiny models, and Adapters is the folder of their adapters.
var (
	Own      = Testdata("folders")
	Adapters = Testdata("adapters")
)

// Testdata returns a path below models/testdata, for the tests of package models and of the
// packages in models/internal.
func Testdata(path string) string {
	for _, up := range []string{"testdata", "../../testdata"} {
		if _, err := os.Stat(filepath.Join(up, "folders")); err == nil {
			return filepath.Join(up, path)
		}
	}
	return filepath.Join("testdata", path)
}

// Folder returns a model folder in memory.
func Folder(t testing.TB, name string) fstest.MapFS {
	m := fstest.MapFS{}
	root := filepath.Join(Own, name)
	tftest.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "expected.safetensors" {
			return err
		}
		data, err := os.ReadFile(file)
		rel, _ := filepath.Rel(root, file)
		m[filepath.ToSlash(rel)] = &fstest.MapFile{Data: data}
		return err
	}))
	return m
}

// Folders returns the project's folders that have a model.
func Folders(t testing.TB) []string {
	var names []string
	for _, e := range tftest.Must(os.ReadDir(Own))(t) {
		if _, err := os.Stat(filepath.Join(Own, e.Name(), "config.json")); err == nil {
			names = append(names, e.Name())
		}
	}
	return names
}

// With returns the folder with another file, which may replace one.
func With(m fstest.MapFS, name string, data []byte) fstest.MapFS {
	m = maps.Clone(m)
	m[name] = &fstest.MapFile{Data: data}
	return m
}

// onlyTest is locked for writing by tests that measure memory, so that no other test runs
// meanwhile. All other tests lock it for reading.
var onlyTest sync.RWMutex

// Open loads a folder with any content, and uses the model if there is one. It reports panics,
// errors without a known kind, and memory beyond a multiple of the files' size. If a load seems to
// allocate more while other tests run, Open measures it again without them.
func Open(t testing.TB, what string, m fstest.MapFS) error {
	t.Helper()
	size := 0
	for _, f := range m {
		size += len(f.Data)
	}
	most := uint64(16<<20 + 20*size)
	onlyTest.RLock()
	allocated, err := opened(t, what, m)
	onlyTest.RUnlock()
	if allocated > most {
		onlyTest.Lock()
		allocated, err = opened(t, what, m)
		onlyTest.Unlock()
	}
	if allocated > most {
		t.Errorf("%s: %d bytes allocated for files of %d, error %v", what, allocated, size, err)
	}
	if err != nil && !slices.ContainsFunc(sentinels, func(s error) bool { return errors.Is(err, s) }) {
		t.Errorf("%s: error %v matches none of the package's", what, err)
	}
	return err
}

// opened returns the error of loading a folder and using its model, and the number of bytes that
// all goroutines allocated meanwhile.
func opened(t testing.TB, what string, m fstest.MapFS) (allocated uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("%s: panic: %v", what, p)
			}
		}()
		model, err := models.OpenFS(m, models.Options{})
		if err == nil {
			use(model)
		}
		return err
	}()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// sentinels are the kinds of errors of Open.
var sentinels = []error{
	fault.ErrConfig, fault.ErrFolder, fault.ErrModelType, fault.ErrShape, fault.ErrTooLong,
	fault.ErrMissing, fault.ErrMisshapen, fault.ErrLeftOver, fault.ErrFormat, fault.ErrType,
}

// use passes a few tokens, pixels or samples through a model, and ignores errors.
func use(m *models.Model) {
	ws := new(models.Workspace)
	in := models.Tokens{IDs: []int{1, 2, 3}, Batch: transformer.Ragged(2, 1)}
	if m.Encoder != nil {
		x := make([]float32, 3*m.Encoder.Dim())
		m.Encoder.Encode(ws, x, in)
		for h, results := range map[models.Head]int{m.Heads[models.HeadPooler]: 2, m.Heads[models.HeadClassifier]: 2, m.Heads[models.HeadTokenClassifier]: 3, m.Heads[models.HeadMaskedLM]: 3, m.Heads[models.HeadNextSentence]: 2, m.Heads[models.HeadAnswer]: 3} {
			if h != nil {
				h.Forward(ws, make([]float32, results*h.Out()), x, in)
			}
		}
		if m.Embedders.Sentence != nil {
			m.Embedders.Sentence.Embed(ws, make([]float32, 2*m.Embedders.Sentence.Dim()), in)
		}
		if m.Embedders.Sparse != nil {
			m.Embedders.Sparse.Weigh(ws, x, in, func(int, models.SparseVector) {})
		}
		if m.Embedders.Tokens != nil {
			m.Embedders.Tokens.Project(ws, make([]float32, 3*m.Embedders.Tokens.Dim()), x, 3)
		}
	}
	if m.Image != nil {
		h, w := m.Image.Size()
		if rows, err := m.Image.Rows(h, w); err == nil && h < 100 {
			m.Image.EncodeImages(ws, make([]float32, rows*m.Image.Dim()), make([]float32, m.Image.Channels()*h*w), 1, h, w)
		}
	}
	if m.LM != nil {
		m.Logits(ws, make([]float32, 3*m.LM.Vocab()), in.IDs, in.Batch, nil, m.LM.NewPages(0).Cache(2))
	}
}

// RefusesFields opens a folder several times, each time with one field changed to a JSON text, and
// expects an error that names the field.
func RefusesFields(t *testing.T, folder string, fields map[string]string) {
	t.Helper()
	for field, value := range fields {
		_, err := models.OpenFS(WithField(t, folder, field, value), models.Options{})
		if e := new(fault.Error); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s with %s = %s: %v, want an error of this field", folder, field, value, err)
		}
	}
}

// WithField returns a folder with one field of config.json changed.
func WithField(t *testing.T, folder, field, value string) fstest.MapFS {
	t.Helper()
	dir := filepath.Join(Own, folder)
	text, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]json.RawMessage
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	config[field] = json.RawMessage(value)
	if text, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	weights, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{"config.json": {Data: text}, "model.safetensors": {Data: weights}}
}
