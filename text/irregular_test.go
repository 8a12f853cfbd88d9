package text_test

import (
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/text"
)

// TestIrregularFiles opens folders in which a file is a pipe, which never ends.
func TestIrregularFiles(t *testing.T) {
	for _, c := range []struct {
		folder string
		open   func(fsys fs.FS) error
		files  string // that the pipeline reads, there or not
	}{
		{"generate", func(fsys fs.FS) error { _, err := text.OpenGenerator(".", text.Options{FS: fsys}); return err },
			"config.json generation_config.json model.safetensors tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json chat_template.jinja"},
		{"embed", func(fsys fs.FS) error { _, err := text.OpenEmbedder(".", text.Options{FS: fsys}); return err },
			"modules.json 1_Pooling/config.json sentence_bert_config.json config_sentence_transformers.json"},
		{"image", func(fsys fs.FS) error { _, err := text.OpenImageClassifier(".", text.Options{FS: fsys}); return err }, "preprocessor_config.json"},
		{"transcribe", func(fsys fs.FS) error { _, err := text.OpenTranscriber(".", text.Options{FS: fsys}); return err }, "preprocessor_config.json"},
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
