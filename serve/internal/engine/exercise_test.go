package engine

import (
	"context"
	"testing"

	"github.com/avoformer/avoformer/text"
)

// TestExercise: what a pipeline fails at is told, for every kind that is served. A context that has ended fails each of
// them, if it is asked at all.
func TestExercise(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	const testdata = "../../../text/testdata/"
	folders := map[text.Kind]string{
		text.KindEmbedder: "embed", text.KindReranker: "rerank", text.KindClassifier: "classify", text.KindTokenClassifier: "tokens", text.KindGenerator: "generate",
		text.KindTranslator: "translate", text.KindTranscriber: "transcribe", text.KindImageClassifier: "image", text.KindImageEmbedder: "image",
	}
	for _, kind := range served {
		folder, ok := folders[kind]
		if !ok {
			t.Errorf("no folder of a %s", kind)
			continue
		}
		p, err := text.OpenKind(kind, testdata+folder)
		if err != nil {
			t.Fatal(err)
		}
		if err := exercise(t.Context(), p); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := exercise(ended, p); err == nil {
			t.Errorf("a %s is not asked", kind)
		}
	}
}
