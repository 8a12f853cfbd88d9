package text

import (
	"errors"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestDraft: a draft model changes no text; one with other tokens, none at all, and other pipelines are refused.
func TestDraft(t *testing.T) {
	const dir = "testdata/generate"
	plain, err := OpenGenerator(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := OpenGenerator(dir, Options{Draft: dir, CacheMemory: 1 << 24})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(6) {
		o := GenerateOptions{MaxTokens: 40, Temperature: float64(seed % 2), Seed: seed + 1}
		want, err := textOf(plain.Generate(t.Context(), "hello", o))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := textOf(g.Generate(t.Context(), "hello", o)); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if st := g.Stats(); st.DraftSteps == 0 || plain.Stats().DraftSteps > 0 {
		t.Errorf("%+v", st)
	}
	for _, draft := range []string{"testdata/nowhere", "testdata/translate", "testdata/image"} {
		if _, err := OpenGenerator(dir, Options{Draft: draft}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("draft %q: %v", draft, err)
		}
	}
	_, translator := OpenTranslator("testdata/translate", Options{Draft: dir})
	_, embedder := OpenEmbedder("testdata/embed", Options{Draft: dir})
	if !errors.Is(translator, fault.ErrOption) || !errors.Is(embedder, fault.ErrOption) {
		t.Errorf("other pipelines: %v, %v", translator, embedder)
	}
}
