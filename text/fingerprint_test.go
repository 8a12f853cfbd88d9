package text

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
)

// TestFingerprint: the options that change results change the fingerprint, and no other ones.
func TestFingerprint(t *testing.T) {
	const dir = "testdata/embed"
	of := func(o Options) string {
		t.Helper()
		return tftest.Must(tftest.Must(OpenEmbedder(dir, o))(t).Fingerprint(t.Context()))(t)
	}
	plain := of(Options{})
	if parts := strings.Split(plain, "-"); len(parts) != 3 || len(parts[0]) != 20 || parts[1] != "f32" {
		t.Errorf("%q, want MODEL-f32-NUMERICS", plain)
	}
	ignore := func(string) {}
	if got := of(Options{
		Threads: 1, BatchTokens: 99, OnBatch: func(int, int) {}, Long: LongRefuse, Replicas: 1, machine: twoNodes,
		Model: models.Options{Exact: true, MemoryLimit: 1 << 30, HeadersOnly: true, Warn: ignore},
	}); got != plain {
		t.Errorf("%q, want %q", got, plain)
	}
	seen := map[string]string{plain: "no options"}
	modules := map[string][2]int{"encoder.layer.0.attention.self.value": {32, 32}}
	one, two := tftest.WriteAdapter(t, 0.4, modules), tftest.WriteAdapter(t, -0.3, modules)
	held := func(o models.Options) Options { return Options{Model: o} }
	in := func(patterns ...string) Options {
		var o models.Options
		for _, p := range patterns {
			o.WeightFormats = append(o.WeightFormats, models.NamedFormat{Pattern: p, Format: kernels.FormatBF16})
		}
		return held(o)
	}
	with := func(list ...models.Adapter) Options { return held(models.Options{Adapters: list}) }
	for name, o := range map[string]Options{
		"int8":               held(models.Options{WeightFormat: kernels.FormatInt8}),
		"a weight in bf16":   in("encoder.layer.0.*"),
		"another in bf16":    in("encoder.layer.1.*"),
		"both":               in("encoder.layer.0.*", "encoder.layer.1.*"),
		"dim":                {Dim: 8},
		"another dim":        {Dim: 9},
		"length":             {MaxLength: 9},
		"split":              {Long: LongSplit},
		"split with overlap": {Long: LongSplit, Stride: 2},
		"as written":         {TokenizerAsWritten: true},
		"adapter":            with(models.Adapter{Path: one}),
		"adapter, half":      with(models.Adapter{Path: one, Scale: 0.5}),
		"another adapter":    with(models.Adapter{Path: two}),
		"both adapters":      with(models.Adapter{Path: one}, models.Adapter{Path: two}),
	} {
		got := of(o)
		if before, ok := seen[got]; ok {
			t.Errorf("%s: the fingerprint of %s, %q", name, before, got)
		}
		seen[got] = name
	}
}

// TestFingerprintOfGenerator: neither copies of the weights nor a draft, room for keys and values,
// or a name of an adapter change the fingerprint; the formats of the cache and of prompts do.
func TestFingerprintOfGenerator(t *testing.T) {
	t.Parallel()
	const dir = "testdata/generate"
	of := func(o Options) string {
		t.Helper()
		o.Model.HeadersOnly = true
		return tftest.Must(tftest.Must(OpenGenerator(dir, o))(t).Fingerprint(t.Context()))(t)
	}
	plain := of(Options{})
	if got := of(Options{ReplicaPerNode: true, CopyWeights: true, CacheMemory: 1 << 20, Draft: dir, machine: twoNodes}); got != plain {
		t.Errorf("%q, want %q", got, plain)
	}
	cache, prompts := of(Options{Model: models.Options{CacheFormat: kernels.FormatInt8}}), of(Options{Model: models.Options{PromptFormat: kernels.FormatInt8}})
	if cache == plain || prompts == plain || cache == prompts {
		t.Errorf("%q, with another cache %q, with other prompts %q", plain, cache, prompts)
	}
}

// TestFingerprintOfFast: results of bf16_fast depend on what the machine multiplies it by, those of
// other formats do not, and only bf16_fast asks for tiles.
func TestFingerprintOfFast(t *testing.T) {
	asked := false
	by := func(what string) func() string { return func() string { asked = true; return what } }
	all := []models.NamedFormat{{Pattern: "*", Format: kernels.FormatBF16Fast}}
	for name, c := range map[string]struct {
		o    models.Options
		fast bool
	}{
		"weights": {models.Options{WeightFormat: kernels.FormatBF16Fast}, true}, "some weights": {models.Options{WeightFormats: all}, true},
		"prompts": {models.Options{PromptFormat: kernels.FormatBF16Fast}, true},
		"none":    {models.Options{}, false}, "bf16": {models.Options{WeightFormat: kernels.FormatBF16, PromptFormat: kernels.FormatInt8}, false},
	} {
		asked = false
		o := Options{Model: c.o}
		tiles, pairs, neither := o.format(by("tiles"), false), o.format(by("pairs"), false), o.format(by(""), false)
		if (tiles != neither) != c.fast || (pairs != neither) != c.fast || (tiles != pairs) != c.fast || asked != c.fast {
			t.Errorf("%s: %q by tiles, %q by pairs, %q by neither; asked: %v", name, tiles, pairs, neither, asked)
		}
	}
}

// TestFingerprintFiles: any byte of a file that is read counts, and a file that is not read does
// not.
func TestFingerprintFiles(t *testing.T) {
	open := func(fsys fs.FS) *Embedder { t.Helper(); return tftest.Must(OpenEmbedder(".", Options{FS: fsys}))(t) }
	of := func(fsys fs.FS) string { t.Helper(); return tftest.Must(open(fsys).Fingerprint(t.Context()))(t) }
	plain := of(os.DirFS("testdata/embed"))
	copied := fstest.MapFS{}
	dir := t.TempDir()
	err := fs.WalkDir(os.DirFS("testdata/embed"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data := tftest.Must(os.ReadFile(filepath.Join("testdata/embed", name)))(t)
		copied[name] = &fstest.MapFile{Data: data}
		tftest.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777))
		return os.WriteFile(filepath.Join(dir, name), data, 0o666)
	})
	tftest.NoError(t, err)
	copied["README.md"] = &fstest.MapFile{Data: []byte("nothing reads it")}
	if got := of(copied); got != plain {
		t.Errorf("a copy in memory has %q, want %q", got, plain)
	}
	weights := copied["model.safetensors"].Data
	weights[len(weights)-1] ^= 1
	if got := of(copied); got == plain {
		t.Errorf("another last bit of the weights gives the same fingerprint %q", got)
	}

	e := open(os.DirFS(dir))
	weights[len(weights)/2] ^= 1
	tftest.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), weights[:len(weights)-1], 0o666))
	if got, err := e.Fingerprint(t.Context()); !errors.Is(err, fault.ErrFolder) || !strings.Contains(err.Error(), "model.safetensors") {
		t.Errorf("weights that changed after the pipeline was opened: %q, %v", got, err)
	}
	before := open(os.DirFS("testdata/embed"))
	tftest.Must(before.Fingerprint(t.Context()))(t)
	before.identity.files = nil // the second call does not look
	if again, err := before.Fingerprint(t.Context()); again != plain || err != nil {
		t.Errorf("the second call says %q, %v", again, err)
	}
}

// TestFingerprintGGUF: a GGUF file has one, and so has each pipeline.
func TestFingerprintGGUF(t *testing.T) {
	for dir, kind := range map[string]Kind{"testdata/generate": KindGenerator, "testdata/rerank": KindReranker, "testdata/image": KindImageClassifier} {
		p := tftest.Must(OpenKind(kind, dir, Options{Model: models.Options{HeadersOnly: true}}))(t)
		if got, err := p.Fingerprint(t.Context()); err != nil || got == "" {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
	}
	path := tftest.Must(filepath.Glob("../models/testdata/gguf-encoders/bert-pool*.gguf"))(t)[0]
	p := tftest.Must(OpenEmbedder(path, Options{Model: models.Options{HeadersOnly: true}}))(t)
	if got, err := p.Fingerprint(t.Context()); err != nil || !strings.Contains(got, "-f32-") {
		t.Errorf("%s: %q, %v", path, got, err)
	}
}
