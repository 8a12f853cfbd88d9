package text

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/generation"
)

// TestSettingsDefaults opens a folder that samples and says no more: transformers then takes the 50
// likeliest tokens, at a temperature of 1.
func TestSettingsDefaults(t *testing.T) {
	for config, want := range map[string]GenerateOptions{
		`{"do_sample": true}`:                                     {Sampling: generation.Sampling{Temperature: 1, TopK: 50, TopP: 1, TypicalP: 1}, RepetitionPenalty: 1},
		`{"do_sample": true, "num_beams": 1}`:                     {Sampling: generation.Sampling{Temperature: 1, TopK: 50, TopP: 1, TypicalP: 1}, Beams: 1, RepetitionPenalty: 1},
		`{"do_sample": true, "top_k": 7, "temperature": 0.5}`:     {Sampling: generation.Sampling{Temperature: 0.5, TopK: 7, TopP: 1, TypicalP: 1}, RepetitionPenalty: 1},
		`{"do_sample": false, "top_k": 7, "temperature": 0.5}`:    {RepetitionPenalty: 1},
		`{"do_sample": true, "min_p": 0.25, "max_new_tokens": 9}`: {Sampling: generation.Sampling{Temperature: 1, TopK: 50, TopP: 1, MinP: 0.25, TypicalP: 1}, RepetitionPenalty: 1, MaxTokens: 9},
	} {
		g, err := OpenGenerator(".", Options{FS: overlay("generate", map[string]string{"generation_config.json": config})})
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.Defaults()
		a, b := mustJSON(t, got), mustJSON(t, want)
		if err != nil || a != b {
			t.Errorf("%s: %s, %v, want %s", config, a, err, b)
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestMinNewTokens: min_new_tokens goes before min_length, which counts the prompt.
func TestMinNewTokens(t *testing.T) {
	for _, c := range []struct {
		length             int
		tokens             string
		wantLength, wanted int
	}{{20, "null", 20, 0}, {20, "0", 0, 0}, {20, "1", 0, 1}, {20, "2", 0, 2}, {0, "1", 0, 1}} {
		config := fmt.Sprintf(`{"min_length": %d, "min_new_tokens": %s}`, c.length, c.tokens)
		g, err := OpenGenerator(".", Options{FS: overlay("generate", map[string]string{"generation_config.json": config})})
		if err != nil {
			t.Fatal(err)
		}
		if r := g.settings.Rules([]int{1}, nil); r.MinLength != c.wantLength || r.MinNewTokens != c.wanted {
			t.Errorf("%s: %d and %d", config, r.MinLength, r.MinNewTokens)
		}
	}
}

// TestOneLabel classifies with a model of a single label: as in transformers' pipeline its score is
// a sigmoid, which is what the cross-encoder's scores are too. The texts of a pair keep their order
// on one thread and on several.
func TestOneLabel(t *testing.T) {
	var want struct {
		Query  string
		Texts  []string
		Scores []float32
	}
	readExpected(t, "rerank", &want)
	for threads := 1; threads <= 2; threads++ {
		c, err := OpenClassifier("testdata/rerank", Options{Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		var pairs [][2]string
		for _, x := range want.Texts {
			pairs = append(pairs, [2]string{want.Query, x})
		}
		labels, err := outputs(c.Classify(context.Background(), Pairs(pairs...), ClassifyOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		var got []float32
		for _, l := range labels {
			if len(l) != 1 {
				t.Fatalf("%v, want one label", l)
			}
			got = append(got, l[0].Score)
		}
		close32(t, "scores", got, want.Scores, 1e-5)
	}
}

// TestNormalizeZeros: a vector of length zero stays as it is.
func TestNormalizeZeros(t *testing.T) {
	for _, v := range [][]float32{{}, {0, 0}, {3, -4}} {
		want := slices.Clone(v)
		for i := range want {
			want[i] /= 5
		}
		normalize(v)
		close32(t, "vector", v, want, 1e-7)
	}
}
