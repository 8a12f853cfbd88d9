package text

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// TestNamedAdapter: texts get what the model with their adapter in its weights makes of the prompt, those without one what the
// model alone does, at the same time.
func TestNamedAdapter(t *testing.T) {
	const dir = "testdata/generate"
	modules := map[string][2]int{"model.layers.0.self_attn.v_proj": {16, 32}, "model.layers.1.mlp.gate_proj": {48, 32}, "model.layers.1.mlp.down_proj": {32, 48}}
	paths := map[string]string{"one": tftest.WriteAdapter(t, 0.4, modules), "two": tftest.WriteAdapter(t, -0.3, modules)}
	g := tftest.Must(OpenGenerator(dir, Options{Model: models.Options{Adapters: []models.Adapter{{Name: "one", Path: paths["one"]}, {Name: "two", Path: paths["two"], Scale: 2}}}}))(t)
	if !slices.Equal(g.Adapters(), []string{"one", "two"}) {
		t.Errorf("adapters %q", g.Adapters())
	}
	want := map[string]string{}
	for name, list := range map[string][]models.Adapter{"": nil, "one": {{Path: paths["one"]}}, "two": {{Path: paths["two"], Scale: 2}}} {
		alone := tftest.Must(OpenGenerator(dir, Options{Model: models.Options{Adapters: list}}))(t)
		want[name] = tftest.Must(textOf(alone.Generate(t.Context(), "hello", GenerateOptions{MaxTokens: 30})))(t)
	}
	if want[""] == want["one"] || want["one"] == want["two"] {
		t.Fatalf("adapters change nothing: %q", want)
	}
	var wg sync.WaitGroup
	for range 3 {
		for name, text := range want {
			wg.Go(func() {
				if got, err := textOf(g.Generate(t.Context(), "hello", GenerateOptions{MaxTokens: 30, Adapter: name})); err != nil || got != text {
					t.Errorf("adapter %q: %q, %v, want %q", name, got, err, text)
				}
			})
		}
	}
	wg.Wait()
	for name, o := range map[string]GenerateOptions{"unknown": {Adapter: "three"}, "search": {Adapter: "one", Beams: 2}} {
		if _, err := textOf(g.Generate(t.Context(), "hello", o)); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%s: error %v, want fault.ErrOption", name, err)
		}
	}
	_, twice := OpenGenerator(dir, Options{Model: models.Options{Adapters: []models.Adapter{{Name: "one", Path: paths["one"]}, {Name: "one", Path: paths["two"]}}}})
	_, embedder := OpenEmbedder("testdata/embed", Options{Model: models.Options{Adapters: []models.Adapter{{Name: "one", Path: paths["one"]}}}})
	if !errors.Is(twice, fault.ErrOption) || !errors.Is(embedder, fault.ErrOption) {
		t.Errorf("twice %v, of vectors %v, want fault.ErrOption", twice, embedder)
	}
}
