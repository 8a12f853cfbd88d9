package text

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestClassify(t *testing.T) {
	for _, folder := range []string{"classify", "classify-multi"} {
		t.Run(folder, func(t *testing.T) {
			var want struct {
				Texts   []string
				Results [][]Label
			}
			readExpected(t, folder, &want)
			for _, batch := range []int{1, 64, 4096} {
				c, err := OpenClassifier("testdata/"+folder, BatchTokens(batch), Threads(2))
				if err != nil {
					t.Fatal(err)
				}
				got, err := c.Classify(context.Background(), want.Texts)
				if err != nil {
					t.Fatal(err)
				}
				for i := range got {
					compareLabels(t, fmt.Sprint("text ", i), got[i], want.Results[i])
				}
			}
		})
	}
}

func compareLabels(t *testing.T, what string, got, want []Label) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	for j, l := range got {
		if l.Label != want[j].Label {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
		close32(t, what, []float32{l.Score}, []float32{want[j].Score}, 1e-5)
	}
}

func TestRerank(t *testing.T) {
	ctx := context.Background()
	var want struct {
		Query  string
		Texts  []string
		Scores []float32
		Ranked []int
	}
	readExpected(t, "rerank", &want)
	r, err := OpenReranker("testdata/rerank")
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Score(ctx, want.Query, want.Texts)
	if err != nil {
		t.Fatal(err)
	}
	close32(t, "scores", got, want.Scores, 1e-5)
	ranked, err := r.Rank(ctx, want.Query, want.Texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range ranked {
		if x.Index != want.Ranked[i] {
			t.Fatalf("ranked %v, want %v", ranked, want.Ranked)
		}
	}
	if _, err := OpenReranker("testdata/classify"); !errors.Is(err, ErrFolder) {
		t.Errorf("three labels: error %v, want an ErrFolder", err)
	}
	if _, err := OpenReranker("testdata/rerank", SplitLong(2)); !errors.Is(err, ErrOption) {
		t.Errorf("SplitLong: error %v, want an ErrOption", err)
	}
}

// TestRerankForms is a cross-encoder as newer releases of sentence-transformers save it.
func TestRerankForms(t *testing.T) {
	var want struct {
		Query  string
		Texts  []string
		Scores []float32
	}
	readExpected(t, "rerank", &want)
	for activation, after := range map[string]func([]float32){"torch.nn.modules.activation.Sigmoid": func([]float32) {}, "torch.nn.modules.linear.Identity": sigmoid} {
		r, err := OpenRerankerFS(overlay("rerank", map[string]string{
			"modules.json":                      `[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]`,
			"sentence_bert_config.json":         `{"transformer_task": "sequence-classification", "module_output_name": "scores"}`,
			"config_sentence_transformers.json": `{"activation_fn": "` + activation + `", "default_prompt_name": null, "model_type": "CrossEncoder", "prompts": {}}`,
		}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Score(context.Background(), want.Query, want.Texts)
		if err != nil {
			t.Fatal(err)
		}
		after(got)
		close32(t, activation, got, want.Scores, 1e-5)
	}
	_, err := OpenRerankerFS(overlay("rerank", map[string]string{"config_sentence_transformers.json": `{"activation_fn": "torch.nn.modules.activation.Tanh"}`}))
	if !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), "activation_fn") {
		t.Errorf("error %v, want an ErrFolder", err)
	}
}

func TestEntities(t *testing.T) {
	var want struct {
		Texts                             []string
		None, Simple, First, Average, Max [][]Entity
	}
	readExpected(t, "tokens", &want)
	c, err := OpenTokenClassifier("testdata/tokens", BatchTokens(40))
	if err != nil {
		t.Fatal(err)
	}
	for how, results := range map[Aggregation][][]Entity{Tokens: want.None, Simple: want.Simple, First: want.First, Average: want.Average, Max: want.Max} {
		got, err := c.Entities(context.Background(), want.Texts, how)
		if err != nil {
			t.Fatal(err)
		}
		for i, list := range got {
			if len(list) != len(results[i]) {
				t.Errorf("aggregation %d, text %d: %d entities, want %d:\n%v\n%v", how, i, len(list), len(results[i]), list, results[i])
				continue
			}
			for j, e := range list {
				w := results[i][j]
				if e.Label != w.Label || e.StartChar != w.StartChar || e.EndChar != w.EndChar {
					t.Errorf("aggregation %d, text %d: %v, want %v", how, i, e, w)
				}
				close32(t, "score", []float32{e.Score}, []float32{w.Score}, 1e-5)
			}
		}
	}
}
