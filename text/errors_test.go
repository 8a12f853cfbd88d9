package text

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// TestOptionsListed compares the list in the comment of Options with what each kind takes: it has
// each field, and each kind that takes it.
func TestOptionsListed(t *testing.T) {
	source, err := os.ReadFile("options.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.ReplaceAll(string(source), "\n//     ", " ") // items of a list in one line
	listed := map[string][]string{}                               // by field
	for _, m := range regexp.MustCompile(`(?m)^//   - ([^:\n]+): (.+)$`).FindAllStringSubmatch(lines, -1) {
		for _, field := range strings.Split(m[2], ", ") {
			listed[field] = append(listed[field], strings.Split(m[1], ", ")...)
		}
	}
	names := map[string][]string{"Long": {"LongTruncate", "LongRefuse", "LongSplit"}, "Stride": {"LongSplit"}} // in KindInfo.Options
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Options]()) {
		if !f.IsExported() {
			continue
		}
		want := []string{"all pipelines"}
		if !slices.Contains(toAll, f.Name) && f.Name != "Model" && f.Name != "FS" {
			want = nil
			for _, r := range records() {
				if slices.ContainsFunc(append(names[f.Name], f.Name), func(name string) bool { return slices.Contains(r.Options, name) }) {
					want = append(want, r.Type)
				}
			}
		}
		got := listed[f.Name]
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("the comment of Options has %s for %v, want %v", f.Name, got, want)
		}
		delete(listed, f.Name)
	}
	if len(listed) > 0 {
		t.Errorf("the comment of Options has %v, which are no fields", listed)
	}
}

// TestOptionsApply: a pipeline refuses options that do not apply to it, and options that contradict
// each other, before it looks at the folder.
func TestOptionsApply(t *testing.T) {
	for _, x := range []struct {
		pipeline, field, value string
		o                      Options
	}{
		{"Embedder", "CacheFormat", "f16", Options{Model: models.Options{CacheFormat: kernels.FormatF16}}},
		{"Embedder", "PromptFormat", "int8", Options{Model: models.Options{PromptFormat: kernels.FormatInt8}}},
		{"Embedder", "Adapter.Name", "a", Options{Model: models.Options{Adapters: []models.Adapter{{Path: "b", Name: "a"}}}}},
		{"Embedder", "CacheMemory", "1", Options{CacheMemory: 1}},
		{"Embedder", "MaxPixels", "9", Options{MaxPixels: 9}},
		{"Classifier", "Dim", "3", Options{Dim: 3}},
		{"Classifier", "Pooling", "cls", Options{Pooling: "cls"}},
		{"Classifier", "Instruction", "a", Options{Instruction: "a"}},
		{"Reranker", "LongSplit", "3", Options{Long: LongSplit, Stride: 3}},
		{"Generator", "BatchTokens", "3", Options{BatchTokens: 3}},
		{"Generator", "OnBatch", "", Options{OnBatch: func(int, int) {}}},
		{"Generator", "LongTruncate", "", Options{Long: LongTruncate}},
		{"Translator", "Draft", "a", Options{Draft: "a"}},
		{"Transcriber", "LongRefuse", "", Options{Long: LongRefuse}},
		{"ImageEmbedder", "MaxLength", "5", Options{MaxLength: 5}},
		{"Embedder", "Stride", "2", Options{Stride: 2}},
		{"Embedder", "Stride", "2", Options{Long: LongTruncate, Stride: 2}},
		{"Embedder", "Long", "9", Options{Long: 9}},
		{"Embedder", "Dim", "-1", Options{Dim: -1}},
		{"Embedder", "MemoryLimit", "-1", Options{Model: models.Options{MemoryLimit: -1}}},
	} {
		_, err := x.o.settled(infoOf(t, x.pipeline))
		var e *fault.Error
		if !errors.Is(err, fault.ErrOption) || !errors.As(err, &e) || e.Field != x.field || e.Value != x.value {
			t.Errorf("%s: error %v, want a fault.ErrOption of %s = %s", x.pipeline, err, x.field, x.value)
		}
	}
	for _, r := range records() {
		if _, err := (Options{Threads: 1, Model: models.Options{
			WeightFormat: kernels.FormatBF16, WeightFormats: []models.NamedFormat{{Pattern: "a.*", Format: kernels.FormatF16}}, Adapters: []models.Adapter{{Path: "a"}},
		}}).settled(r.KindInfo); err != nil {
			t.Errorf("%s: %v", r.Type, err)
		}
		for _, name := range r.Options {
			if !slices.ContainsFunc((&Options{Model: models.Options{Adapters: make([]models.Adapter, 1)}}).some(), func(g given) bool { return g.name == name }) {
				t.Errorf("%s takes %s, which is no option", r.Type, name)
			}
		}
	}
	for _, r := range records() {
		o := Options{FS: fstest.MapFS{}, MaxPixels: 1}
		if slices.Contains(r.Options, "MaxPixels") {
			o.MaxPixels, o.Dim = 0, 1
		}
		if _, err := OpenKind(r.kind, ".", o); !errors.Is(err, fault.ErrOption) || !strings.Contains(err.Error(), "type "+r.Type+",") {
			t.Errorf("%s: %v, want a fault.ErrOption that names it", r.Type, err)
		}
	}
}

// TestErrorsTellWhere: an error about a folder has its kind, the file, the field and the value.
func TestErrorsTellWhere(t *testing.T) {
	folder := func(files ...string) fstest.MapFS {
		fsys := fstest.MapFS{}
		for i := 0; i < len(files); i += 2 {
			fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
		}
		return fsys
	}
	const config = `{"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2}`
	for name, x := range map[string]struct {
		fsys fstest.MapFS
		want fault.Error
	}{
		"no config":     {folder(), fault.Error{Kind: fault.ErrFolder, File: "config.json"}},
		"no JSON":       {folder("config.json", `{`), fault.Error{Kind: fault.ErrConfig, File: "config.json"}},
		"no model type": {folder("config.json", `{}`), fault.Error{Kind: fault.ErrConfig, File: "config.json", Field: "model_type"}},
		"model type":    {folder("config.json", `{"model_type": "x"}`), fault.Error{Kind: fault.ErrConfig, File: "config.json", Field: "model_type", Value: `"x"`}},
		"another type":  {folder("config.json", `{"model_type": 3}`), fault.Error{Kind: fault.ErrConfig, File: "config.json", Field: "model_type", Value: `3`}},
		"generation":    {folder("config.json", config, "generation_config.json", `{"pad_token_id": "x"}`), fault.Error{Kind: fault.ErrConfig, File: "generation_config.json", Field: "pad_token_id", Value: `"x"`}},
		"no weights":    {folder("config.json", config), fault.Error{Kind: fault.ErrFolder}},
		"weights":       {folder("config.json", config, "model.safetensors", "x"), fault.Error{Kind: fault.ErrFormat, File: "model.safetensors"}},
		"index":         {folder("config.json", config, "model.safetensors.index.json", `{"weight_map": {"a.b": "../c"}}`), fault.Error{Kind: fault.ErrConfig, File: "model.safetensors.index.json", Field: "weight_map.a.b", Value: `"../c"`}},
	} {
		_, err := OpenClassifier(".", Options{FS: x.fsys})
		var e *fault.Error
		if !errors.As(err, &e) || !errors.Is(err, x.want.Kind) || e.File != x.want.File || e.Field != x.want.Field || e.Value != x.want.Value {
			t.Errorf("%s: error %v (%+v), want %+v", name, err, e, x.want)
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), x.want.Kind.Error()) > 1) {
			t.Errorf("%s: %v, want a line that says the kind at most once", name, err)
		}
	}
}

// TestMissingFolder: a name of the hub in place of a folder is told how its folder comes.
func TestMissingFolder(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"hf://org/name": "hub.Pull", "no-org/no-name": "avoformer pull no-org/no-name"} {
		_, embedder := OpenEmbedder(name, Options{})
		_, tokens := tokenizer.Open(name)
		for _, err := range []error{embedder, tokens} {
			if !errors.Is(err, fault.ErrFolder) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want a fault.ErrFolder with %q", name, err, want)
			}
		}
	}
}

// infoOf is what is known of the kind with pipelines of a type.
func infoOf(t *testing.T, pipeline string) KindInfo {
	for _, r := range records() {
		if r.Type == pipeline {
			return r.KindInfo
		}
	}
	t.Fatalf("no kind has pipelines of the type %s", pipeline)
	return KindInfo{}
}

// TestGenerationFields compares what fields of generation_config.json make of a text with what
// transformers 5.24 does.
func TestGenerationFields(t *testing.T) {
	for _, c := range []struct{ folder, fields, input, want string }{
		// The prompt is what a decoder without an encoder has as its encoder's tokens.
		{"generate", `{"max_new_tokens": 12, "encoder_repetition_penalty": 4.0}`, "My neighbour reads the long letter in the morning, and", " in in in reads letter reads in in reads in reads letter"},
		{"summarize", `{"max_new_tokens": 14, "min_length": 5, "min_new_tokens": 0, "eos_token_id": [142, 32]}`, "Où est 東京?", ""},
	} {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.fields), &fields); err != nil {
			t.Fatal(err)
		}
		run, err := generating(overlay(c.folder, map[string]string{"generation_config.json": merged(t, c.folder, fields)}), c.folder)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for piece, err := range run(t, c.input) {
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(piece.Text)
		}
		if b.String() != c.want {
			t.Errorf("%s with %s: %q, want %q", c.folder, c.fields, b.String(), c.want)
		}
	}
}

// TestGenerationAccount: a field of generation_config.json that nothing knows is a warning.
func TestGenerationAccount(t *testing.T) {
	for config, want := range map[string]string{
		`{"of_tomorrow": 3}`:   "generation_config.json: of_tomorrow = 3",
		`{"use_cache": false}`: "",
		`{"prompt_lookup_num_tokens": 3, "top_h": 0.5, "_from_model_config": true}`: "",
	} {
		var said []string
		if _, err := OpenGenerator(".", Options{FS: overlay("generate", map[string]string{"generation_config.json": config}), Model: models.Options{Warn: func(w string) { said = append(said, w) }}}); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(said, "; "); !strings.Contains(all, want) || want == "" && all != "" {
			t.Errorf("%s: warnings %q, want %q", config, all, want)
		}
	}
}

// TestIrregularFiles opens folders in which a file is a pipe, which never ends.
func TestIrregularFiles(t *testing.T) {
	for _, c := range []struct {
		folder string
		open   func(fsys fs.FS) error
		files  string // that the pipeline reads, there or not
	}{
		{"generate", func(fsys fs.FS) error { _, err := OpenGenerator(".", Options{FS: fsys}); return err },
			"config.json generation_config.json model.safetensors tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json chat_template.jinja"},
		{"embed", func(fsys fs.FS) error { _, err := OpenEmbedder(".", Options{FS: fsys}); return err },
			"modules.json 1_Pooling/config.json sentence_bert_config.json config_sentence_transformers.json"},
		{"image", func(fsys fs.FS) error { _, err := OpenImageClassifier(".", Options{FS: fsys}); return err }, "preprocessor_config.json"},
		{"transcribe", func(fsys fs.FS) error { _, err := OpenTranscriber(".", Options{FS: fsys}); return err }, "preprocessor_config.json"},
	} {
		root, whole := os.DirFS("testdata/"+c.folder), fstest.MapFS{}
		err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(root, name)
			whole[name] = &fstest.MapFile{Data: data}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.open(whole); err != nil {
			t.Fatal(err)
		}
		for name := range strings.FieldsSeq(c.files) {
			m := maps.Clone(whole)
			m[name] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
			if err := c.open(m); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("%s: %s as a pipe: error %v, want one that names it", c.folder, name, err)
			}
		}
	}
}
