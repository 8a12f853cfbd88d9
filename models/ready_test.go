package models_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
)

// readyHash returns the hash of all outputs of a folder's model, and where its packed weights are.
func readyHash(t *testing.T, dir string, o models.Options) (string, *models.Ready) {
	t.Helper()
	m := tftest.Must(models.Open(dir, o))(t)
	hash := tftest.NewHash()
	e := modelstest.OpenExpected(t, dir)
	e.Collect = hash.Add
	e.Compute(m)
	return hash.String(), m.Ready
}

// TestReady: every folder's model gives the same bits with packed weights from a file as without
// one, mapped and copied.
func TestReady(t *testing.T) {
	folders := hashFolders(t)
	switch {
	case testenv.Slow():
		folders = []string{"bert", "llama"}
	case testing.Short():
		folders = fewFolders
	}
	tftest.EachTier(t, func(t *testing.T) {
		t.Run("folders", func(t *testing.T) {
			for i, folder := range folders {
				t.Run(folder, func(t *testing.T) {
					t.Parallel()
					dir, o := filepath.Join(own, folder), models.Options{WeightFormat: hashFormats[i%len(hashFormats)]}
					if _, err := models.Open(dir, o); err != nil { // the format does not fit its sizes
						o.WeightFormat = kernels.FormatF32
					}
					want, _ := readyHash(t, dir, o)
					o.Ready = t.TempDir()
					for _, hit := range []bool{false, true, true} {
						got, r := readyHash(t, dir, o)
						if got != want || r.Hit != hit || r.Err != nil {
							t.Errorf("%v, hit %t: hash %s, %+v, want %s", o.WeightFormat, hit, got, r, want)
						}
						o.ReadyCopy = hit
					}
				})
			}
		})
	})
}

// copied returns a copy of a folder.
func copied(t *testing.T, folder string) string {
	t.Helper()
	dir := t.TempDir()
	tftest.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(own, folder))))
	return dir
}

// TestReadyIsStale: a file counts for the same weights in the same formats only.
func TestReadyIsStale(t *testing.T) {
	dir, o := copied(t, "llama"), models.Options{Ready: t.TempDir(), WeightFormat: kernels.FormatInt8}
	opened := func(what string, o models.Options, hit bool) string {
		t.Helper()
		hash, r := readyHash(t, dir, o)
		if r.Hit != hit || r.Err != nil {
			t.Errorf("%s: %+v, want a hit: %t", what, r, hit)
		}
		return hash
	}
	first := opened("at first", o, false)
	opened("again", o, true)
	prompts := o
	prompts.WeightFormat, prompts.PromptFormat = kernels.FormatBF16, kernels.FormatInt8
	opened("a second copy", prompts, false)
	opened("a second copy again", prompts, true)
	other := o
	other.WeightFormats = []models.NamedFormat{{Pattern: "*.mlp.*", Format: kernels.FormatF16}}
	opened("another format", other, false)
	adapted := o
	adapted.Adapters = []models.Adapter{{Path: filepath.Join(modelstest.Adapters, "llama-linear")}}
	if got := opened("an adapter", adapted, false); got == first {
		t.Error("an adapter changes nothing")
	}
	opened("the adapter again", adapted, true)
	adapted.Adapters[0].Scale = 0.5
	opened("another scale", adapted, false)

	path := filepath.Join(dir, "model.safetensors")
	info := tftest.Must(os.Stat(path))(t)
	later := info.ModTime().Add(time.Second)
	tftest.NoError(t, os.Chtimes(path, later, later))
	opened("a later file", o, false)
	opened("a later file again", o, true)

	files := tftest.Must(models.ReadyFiles(o.Ready))(t)
	if len(files) != 6 || files[0].Model != dir || files[0].Bytes == 0 || !strings.Contains(files[0].About, "model.safetensors") {
		t.Errorf("%d files, the first of them %+v", len(files), files[0])
	}
}

// TestReadyOfOthers: files of the same size and time with other numbers do not count, also where
// matrices are stored transposed or as integers; nor does an adapter behind a link that was
// changed.
func TestReadyOfOthers(t *testing.T) {
	for _, folder := range []string{"llama", "gpt2", "llama-ints-awq", "llama-ints-packed", "qwen3-fp8"} {
		dir, o := copied(t, folder), models.Options{Ready: t.TempDir()}
		tftest.Must(models.Open(dir, o))(t)
		path := filepath.Join(dir, "model.safetensors")
		info := tftest.Must(os.Stat(path))(t)
		data := tftest.Must(os.ReadFile(path))(t)
		for i := len(data) - 1; i > len(data)/4; i-- {
			data[i] ^= 1
		}
		tftest.NoError(t, os.WriteFile(path, data, 0o600))
		tftest.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
		m := tftest.Must(models.Open(dir, o))(t)
		if m.Ready.Hit || m.Ready.Err != nil {
			t.Errorf("%s: %+v", folder, m.Ready)
		}
		if again := tftest.Must(models.Open(dir, o))(t); !again.Ready.Hit {
			t.Errorf("%s again: %+v", folder, again.Ready)
		}
	}
	adapter := t.TempDir()
	tftest.NoError(t, os.CopyFS(adapter, os.DirFS(filepath.Join(modelstest.Adapters, "llama-linear"))))
	link := filepath.Join(t.TempDir(), "latest")
	tftest.NoError(t, os.Symlink(adapter, link))
	o := models.Options{Ready: t.TempDir(), Adapters: []models.Adapter{{Path: link}}}
	for _, hit := range []bool{false, true, false} {
		if m := tftest.Must(models.Open(filepath.Join(own, "llama"), o))(t); m.Ready.Hit != hit {
			t.Errorf("an adapter behind a link: %+v, want a hit: %t", m.Ready, hit)
		}
		if hit {
			later := time.Now().Add(time.Hour)
			tftest.NoError(t, os.Chtimes(filepath.Join(adapter, "adapter_model.safetensors"), later, later))
		}
	}
}

// TestReadyFails: 2,000 files that are damaged are made again, and one that cannot be written is a
// warning.
func TestReadyFails(t *testing.T) {
	dir, o := copied(t, "bert"), models.Options{Ready: t.TempDir()}
	want, r := readyHash(t, dir, o)
	data := tftest.Must(os.ReadFile(r.Path))(t)
	count := 2000
	if testing.Short() || testenv.Slow() {
		count = 40
	}
	unread := 0
	for i := range count {
		bad := slices.Clone(data)
		if at := i * len(bad) / count; i%2 == 0 {
			bad = bad[:at]
		} else {
			for n := range 64 { // more than the padding
				bad[min(at+n, len(bad)-1)] ^= byte(1 + i%255)
			}
		}
		tftest.NoError(t, os.Remove(r.Path)) // it may be mapped
		tftest.NoError(t, os.WriteFile(r.Path, bad, 0o600))
		o.ReadyCopy = i%3 == 0
		got, again := readyHash(t, dir, o)
		if got == want && again.Hit && i%2 == 1 { // nothing reads the bytes between parts
			unread++
			continue
		}
		if got != want || again.Hit || !errors.Is(again.Old, fault.ErrFormat) || again.Err != nil || again.Path != r.Path {
			t.Fatalf("damage %d: %+v", i, again)
		}
		if i%50 > 0 {
			continue
		}
		if _, again := readyHash(t, dir, o); !again.Hit || again.Old != nil || again.Err != nil {
			t.Fatalf("after damage %d: %+v", i, again)
		}
	}
	if unread > count/20 {
		t.Errorf("%d of %d damaged files are read", unread, count)
	}
	o.Ready = filepath.Join(dir, "config.json", "no folder")
	m := tftest.Must(models.Open(dir, o))(t)
	if m.Ready.Hit || m.Ready.Err == nil || !slices.ContainsFunc(m.Warnings, func(w string) bool { return strings.Contains(w, "no ready file") }) {
		t.Errorf("%+v, warnings %q", m.Ready, m.Warnings)
	}
}

// TestReadyAtOnce: several goroutines open a model, and the first file counts or is replaced by an
// equal one.
func TestReadyAtOnce(t *testing.T) {
	dir, o := filepath.Join(own, "gemma2"), models.Options{Ready: t.TempDir(), WeightFormat: kernels.FormatQ8_0}
	want, _ := readyHash(t, dir, models.Options{WeightFormat: o.WeightFormat})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, r := readyHash(t, dir, o); got != want || r.Err != nil {
				t.Errorf("hash %s, %+v, want %s", got, r, want)
			}
		})
	}
	all.Wait()
	if files := tftest.Must(filepath.Glob(filepath.Join(o.Ready, "*.ready")))(t); len(files) != 1 {
		t.Errorf("files %q, want one", files)
	}
}
