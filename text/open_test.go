package text

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/models"
)

// TestKindOf compares the kinds that the small files of folders tell with what their models have.
func TestKindOf(t *testing.T) {
	const folders = "../models/testdata/folders/"
	entries, err := os.ReadDir(folders)
	if err != nil {
		t.Fatal(err)
	}
	told := map[Kind]int{}
	for _, e := range entries {
		dir := filepath.Join(folders, e.Name())
		m, err := models.Open(dir, models.Options{HeadersOnly: true})
		if err != nil {
			continue // no folder of a model, or one for a test of its own
		}
		if m.Audio != nil && m.Heads[models.HeadCTC] == nil && m.LM == nil {
			continue // no pipeline is for hidden states of sound
		}
		embeds := m.Embedders.Sentence != nil || m.Embedders.Sparse != nil || m.Embedders.Tokens != nil
		texts := m.Encoder != nil && m.LM == nil || m.LM != nil && m.Encoder == nil && m.Audio == nil
		can := map[Kind]bool{
			KindTranscriber: m.Audio != nil, KindImageClassifier: m.Heads[models.HeadImageClassifier] != nil, KindTokenClassifier: m.Heads[models.HeadTokenClassifier] != nil, KindQuestionAnswerer: m.Heads[models.HeadAnswer] != nil,
			KindNextSentence: m.Heads[models.HeadNextSentence] != nil, KindMaskFiller: m.Heads[models.HeadMaskedLM] != nil,
			KindClassifier: m.Heads[models.HeadClassifier] != nil && m.Heads[models.HeadClassifier].Out() > 1, KindReranker: m.Heads[models.HeadClassifier] != nil && m.Heads[models.HeadClassifier].Out() == 1,
			KindImageEmbedder: m.Image != nil || m.Joint != nil, KindTranslator: m.LM != nil && m.Encoder != nil, KindGenerator: m.LM != nil && texts, KindEmbedder: embeds || texts,
		}
		kind, err := KindOf(dir)
		if err != nil || !can[kind] {
			t.Errorf("%s is told to be a %s, %v", e.Name(), kind, err)
		}
		// A head says more than the body.
		for _, head := range []Kind{KindImageClassifier, KindTokenClassifier, KindQuestionAnswerer, KindNextSentence, KindClassifier, KindReranker} {
			if can[head] && kind != head && !embeds && !can[KindMaskFiller] {
				t.Errorf("%s is told to be a %s, its model is a %s", e.Name(), kind, head)
			}
		}
		told[kind]++
	}
	for _, r := range records() {
		if told[r.kind] == 0 && r.use != "" {
			t.Errorf("no folder is told to be a %s", r.kind)
		}
	}
}

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
