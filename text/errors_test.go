package text

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// TestOptionsApply: a pipeline refuses what does not apply to it, and options that contradict each other,
// before it looks at the folder.
func TestOptionsApply(t *testing.T) {
	for _, x := range []struct {
		pipeline, field, value string
		opts                   []Option
	}{
		{"Embedder", "Cache", "f16", []Option{Cache(kernels.FormatF16)}},
		{"Embedder", "Prompts", "int8", []Option{Prompts(kernels.FormatInt8)}},
		{"Generator", "Prompts", "bf16", []Option{Prompts(kernels.FormatBF16)}},
		{"Embedder", "CacheMemory", "1", []Option{CacheMemory(1)}},
		{"Embedder", "MaxPixels", "9", []Option{MaxPixels(9)}},
		{"Classifier", "Dim", "3", []Option{Dim(3)}},
		{"Reranker", "SplitLong", "3", []Option{SplitLong(3)}},
		{"Generator", "BatchTokens", "3", []Option{BatchTokens(3)}},
		{"Generator", "TruncateLong", "", []Option{TruncateLong()}},
		{"Translator", "Draft", "a", []Option{Draft("a")}},
		{"Transcriber", "RefuseLong", "", []Option{RefuseLong()}},
		{"ImageEmbedder", "MaxLength", "5", []Option{MaxLength(5)}},
		{"ImageClassifier", "Cache", "f32", []Option{Cache(kernels.FormatF32)}},
		{"Embedder", "RefuseLong", "", []Option{SplitLong(1), RefuseLong()}},
		{"Embedder", "SplitLong", "2", []Option{SplitLong(1), SplitLong(2)}},
		{"Embedder", "Dim", "4", []Option{Dim(3), Dim(4)}},
		{"Embedder", "Dim", "0", []Option{Dim(0)}},
		{"Embedder", "Warnings", "", []Option{Warnings(nil), Warnings(nil)}},
	} {
		_, err := newOptions(infoOf(t, x.pipeline), x.opts)
		var e *fault.Error
		if !errors.Is(err, fault.ErrOption) || !errors.As(err, &e) || e.Field != x.field || e.Value != x.value {
			t.Errorf("%s: error %v, want a fault.ErrOption of %s = %s", x.pipeline, err, x.field, x.value)
		}
	}
	for _, r := range records() {
		pipeline := r.Type
		if _, err := newOptions(r.KindInfo, []Option{Threads(1), Threads(1), Adapter("a", 1), Adapter("b", 1), WeightsOf("a.*", kernels.FormatF16), WeightsOf("b.*", kernels.FormatInt8), Weights(kernels.FormatBF16)}); err != nil {
			t.Errorf("%s: %v", pipeline, err)
		}
	}
	if _, err := newOptions(infoOf(t, "Embedder"), []Option{SplitLong(1), SplitLong(1), Dim(3), Dim(3)}); err != nil {
		t.Error("the same twice:", err)
	}
	open := map[string]func() error{
		"Embedder":         func() error { _, err := OpenEmbedderFS(fstest.MapFS{}, MaxPixels(1)); return err },
		"Reranker":         func() error { _, err := OpenRerankerFS(fstest.MapFS{}, MaxPixels(1)); return err },
		"Classifier":       func() error { _, err := OpenClassifierFS(fstest.MapFS{}, MaxPixels(1)); return err },
		"TokenClassifier":  func() error { _, err := OpenTokenClassifierFS(fstest.MapFS{}, MaxPixels(1)); return err },
		"MaskFiller":       func() error { _, err := OpenMaskFillerFS(fstest.MapFS{}, MaxPixels(1)); return err },
		"NextSentence":     func() error { _, err := OpenNextSentenceFS(fstest.MapFS{}, MaxPixels(1)); return err },
		"QuestionAnswerer": func() error { _, err := OpenQuestionAnswererFS(fstest.MapFS{}, MaxPixels(1)); return err },
		"Generator":        func() error { _, err := OpenGeneratorFS(fstest.MapFS{}, MaxPixels(1)); return err },
		"Translator":       func() error { _, err := OpenTranslatorFS(fstest.MapFS{}, MaxPixels(1)); return err },
		"Transcriber":      func() error { _, err := OpenTranscriberFS(fstest.MapFS{}, MaxPixels(1)); return err },
		"ImageClassifier":  func() error { _, err := OpenImageClassifierFS(fstest.MapFS{}, Dim(1)); return err },
		"ImageEmbedder":    func() error { _, err := OpenImageEmbedderFS(fstest.MapFS{}, Dim(1)); return err },
	}
	for _, r := range records() {
		pipeline := r.Type
		if err := open[pipeline](); !errors.Is(err, fault.ErrOption) || !strings.Contains(err.Error(), "type "+pipeline+",") {
			t.Errorf("%s: %v, want a fault.ErrOption that names it", pipeline, err)
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
		_, err := OpenClassifierFS(x.fsys)
		var e *fault.Error
		if !errors.As(err, &e) || !errors.Is(err, x.want.Kind) || e.File != x.want.File || e.Field != x.want.Field || e.Value != x.want.Value {
			t.Errorf("%s: error %v (%+v), want %+v", name, err, e, x.want)
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), x.want.Kind.Error()) > 1) {
			t.Errorf("%s: %v, want a line that says the kind at most once", name, err)
		}
	}
}

// TestMissingFolder: a name of the hub in the place of a folder is told how its folder comes.
func TestMissingFolder(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"hf://org/name": "hub.Pull", "no-org/no-name": "avoformer pull no-org/no-name"} {
		_, embedder := OpenEmbedder(name)
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
