package text

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/models"
)

// variant is a folder of testdata with other files, and what sentence-transformers makes of it.
type variant struct {
	Name, Folder, Prompt string
	Pooling              string
	Files                map[string]json.RawMessage
	Scores               []float32
	Sparse               []map[int]float32
	Queries, Documents   [][][]float32 // the first elements of vectors
	Vectors              [][]float32
}

// options returns those that open the folder.
func (v *variant) options(t *testing.T, warn func(string)) Options {
	files := map[string]string{}
	for name, raw := range v.Files {
		var bytes struct{ Base64 []byte }
		if err := json.Unmarshal(raw, &bytes); err == nil && bytes.Base64 != nil {
			raw = bytes.Base64
		}
		files[name] = string(raw)
	}
	return Options{FS: overlay(v.Folder, files), Pooling: v.Pooling, Model: models.Options{Warn: warn}}
}

// TestVariants compares folders with further settings of sentence-transformers' files with what
// that made of them; scripts/variants.py has the settings.
func TestVariants(t *testing.T) {
	var all struct {
		Query    string
		Texts    []string
		Variants []variant
	}
	data, err := os.ReadFile("testdata/variants.json")
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Variants) < 38 {
		t.Fatalf("%d variants", len(all.Variants))
	}
	for _, v := range all.Variants {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			ctx, o := context.Background(), v.options(t, nil)
			if v.Scores != nil {
				r, err := OpenReranker(".", o)
				if err != nil {
					t.Fatal(err)
				}
				got, err := outputs(r.Score(ctx, all.Query, all.Texts, RerankOptions{Prompt: v.Prompt}))
				if err != nil {
					t.Fatal(err)
				}
				close32(t, "scores", got, v.Scores, 1e-5)
				return
			}
			e, err := OpenEmbedder(".", o)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case v.Sparse != nil:
				got, err := outputs(e.EmbedSparse(ctx, Texts(all.Texts...), EmbedOptions{}))
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range v.Sparse {
					if len(got[i]) != len(want) {
						t.Errorf("text %d: %d elements, want %d", i, len(got[i]), len(want))
					}
					for _, w := range got[i] {
						close32(t, "element", []float32{w.Value}, []float32{want[w.Index]}, 1e-5)
					}
				}
			case v.Vectors != nil:
				texts := all.Texts
				if len(v.Vectors) < len(texts) { // of the empty text it makes no vector by itself
					texts = slices.Concat(texts[:2], texts[3:])
				}
				got, err := outputs(e.Embed(ctx, Texts(texts...), EmbedOptions{}))
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range v.Vectors {
					close32(t, "vector", got[i], want, 1e-5)
				}
			case v.Queries == nil || v.Documents == nil:
				t.Error("nothing is recorded")
			default:
				queries, err := outputs(e.EmbedMultiVector(ctx, Texts(all.Query, all.Texts[3]), EmbedOptions{Prompt: "query"}))
				if err != nil {
					t.Fatal(err)
				}
				documents, err := outputs(e.EmbedMultiVector(ctx, Texts(all.Texts[0]), EmbedOptions{}))
				if err != nil {
					t.Fatal(err)
				}
				closeFirst(t, "query", queries, v.Queries)
				closeFirst(t, "document", documents, v.Documents)
			}
		})
	}
}

// closeFirst compares the first elements of vectors of tokens.
func closeFirst(t *testing.T, what string, got, want [][][]float32) {
	t.Helper()
	for i := range want {
		if len(got[i]) != len(want[i]) {
			t.Errorf("%s %d: %d vectors, want %d", what, i, len(got[i]), len(want[i]))
			continue
		}
		for j, w := range want[i] {
			close32(t, what, got[i][j][:len(w)], w, 1e-5)
		}
	}
}
