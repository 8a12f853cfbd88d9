package text

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// TestWarm wants Warm to compute something with pipelines of every kind, and to return the error of what it computes: with a
// context that has ended, the context's error. Totals show that texts were computed. They count no images, sounds and prompts.
func TestWarm(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	folders := map[Kind]string{
		KindEmbedder: "embed", KindReranker: "rerank", KindClassifier: "classify", KindTokenClassifier: "tokens", KindMaskFiller: "fill-mask",
		KindNextSentence: "next-sentence", KindQuestionAnswerer: "answer", KindGenerator: "generate",
		KindTranslator: "translate", KindTranscriber: "transcribe", KindImageClassifier: "image", KindImageEmbedder: "image",
	}
	for _, kind := range Kinds() {
		p, err := OpenKind(kind, "testdata/"+folders[kind], Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Kind() != kind {
			t.Errorf("a %s says that it is a %s", kind, p.Kind())
		}
		if err := p.Warm(t.Context()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		uncounted := []Kind{KindGenerator, KindTranscriber, KindImageClassifier, KindImageEmbedder}
		if p.Totals().Inputs == 0 && !slices.Contains(uncounted, kind) {
			t.Errorf("a %s computed nothing", kind)
		}
		if err := p.Warm(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", kind, err, context.Canceled)
		}
	}
}
