package text

import (
	"context"
	"testing"
)

// TestWarm: Warm asks pipelines of every kind something that they compute. A context that has ended fails it, if anything is asked.
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
		p, err := OpenKind(kind, "testdata/"+folders[kind])
		if err != nil {
			t.Fatal(err)
		}
		if p.Kind() != kind {
			t.Errorf("a %s says that it is a %s", kind, p.Kind())
		}
		if err := p.Warm(t.Context()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := p.Warm(ended); err == nil {
			t.Errorf("a %s is not asked", kind)
		}
	}
}
