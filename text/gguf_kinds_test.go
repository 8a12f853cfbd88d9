package text

import (
	"context"
	"testing"
)

// TestGGUFKinds opens files of decoders, encoders and both with the pipeline that each is for.
func TestGGUFKinds(t *testing.T) {
	const files = "../models/testdata/"
	for file, want := range map[string]Kind{
		"gguf/llama/f32.gguf": KindGenerator, "gguf-encoders/bert.gguf": KindEmbedder, "gguf-encoders/bert-alibi.gguf": KindEmbedder,
		"gguf-encoders/modernbert.gguf": KindEmbedder, "gguf-encoders/qwen3-embed.gguf": KindEmbedder, "gguf-encoders/t5-buckets.gguf": KindTranslator,
	} {
		if kind, err := KindOf(files + file); kind != want || err != nil {
			t.Errorf("%s: kind %q, error %v, want %q", file, kind, err, want)
		}
	}
	tr, err := OpenTranslator(files+"gguf-encoders/t5-buckets.gguf", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var o TranslateOptions
	o.MaxTokens = 5
	if out, err := translated(tr, context.Background(), []string{"t5 t9 t40"}, o); err != nil || out[0] == "" {
		t.Errorf("translation %q, error %v", out, err)
	}
	e, err := OpenEmbedder(files+"gguf-encoders/bert-alibi.gguf", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if x, err := outputs(e.Embed(context.Background(), Texts("t5 t9"), EmbedOptions{})); err != nil || len(x) != 1 || len(x[0]) != 36 {
		t.Errorf("vectors %v, error %v", x, err)
	}
}
