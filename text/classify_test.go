package text

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
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
				c, err := OpenClassifier("testdata/"+folder, Options{BatchTokens: batch, Threads: 2})
				if err != nil {
					t.Fatal(err)
				}
				got, err := outputs(c.Classify(context.Background(), Texts(want.Texts...), ClassifyOptions{}))
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
	r, err := OpenReranker("testdata/rerank", Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := outputs(r.Score(ctx, want.Query, want.Texts, RerankOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	close32(t, "scores", got, want.Scores, 1e-5)
	ranked, err := outputs(r.Rank(ctx, want.Query, want.Texts, RerankOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range ranked {
		if x.Index != want.Ranked[i] {
			t.Fatalf("ranked %v, want %v", ranked, want.Ranked)
		}
	}
	if _, err := OpenReranker("testdata/classify", Options{}); !errors.Is(err, fault.ErrFolder) {
		t.Errorf("three labels: error %v, want a fault.ErrFolder", err)
	}
	if _, err := OpenReranker("testdata/rerank", Options{Long: LongSplit, Stride: 2}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("LongSplit: error %v, want a fault.ErrOption", err)
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
		r, err := OpenReranker(".", Options{FS: overlay("rerank", map[string]string{
			"modules.json":                      `[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]`,
			"sentence_bert_config.json":         `{"transformer_task": "sequence-classification", "module_output_name": "scores"}`,
			"config_sentence_transformers.json": `{"activation_fn": "` + activation + `", "default_prompt_name": null, "model_type": "CrossEncoder", "prompts": {}}`,
		})})
		if err != nil {
			t.Fatal(err)
		}
		got, err := outputs(r.Score(context.Background(), want.Query, want.Texts, RerankOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		after(got)
		close32(t, activation, got, want.Scores, 1e-5)
	}
}

// TestRerankFiles has files of sentence-transformers that count, and some that do not: what its
// CrossEncoder makes of them.
func TestRerankFiles(t *testing.T) {
	const (
		modules  = `[{"name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]`
		scores   = `"transformer_task": "sequence-classification"`
		identity = `"activation_fn": "torch.nn.modules.linear.Identity"`
		class    = `"model_type": "CrossEncoder"`
	)
	const long = "the student reads the letter again the committee reads the question"
	ctx := context.Background()
	open := func(files map[string]string) (*Reranker, error) {
		names := map[string]string{"whole": "config_sentence_transformers.json", "transformer": "sentence_bert_config.json"}
		overlaid := map[string]string{}
		for name, file := range files {
			overlaid[cmp.Or(names[name], name)] = file
		}
		return OpenReranker(".", Options{FS: overlay("rerank", overlaid)})
	}
	plain, err := open(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files    map[string]string
		text     string // what is scored as the long one is
		identity bool
	}{
		"all files":               {map[string]string{"modules.json": modules, "transformer": "{" + scores + "}", "whole": "{" + class + ", " + identity + "}"}, long, true},
		"no modules.json":         {map[string]string{"transformer": `{"max_seq_length": 9}`, "whole": "{" + class + ", " + identity + "}"}, long, false},
		"another class":           {map[string]string{"modules.json": modules, "whole": `{"model_type": "SentenceTransformer", ` + identity + "}"}, long, false},
		"code of the folder":      {map[string]string{"modules.json": modules, "transformer": "{" + scores + "}", "whole": "{" + class + `, "activation_fn": "my.Identity"}`}, long, false},
		"length, case and a side": {map[string]string{"modules.json": modules, "transformer": "{" + scores + `, "max_seq_length": 9, "do_lower_case": 1, "processor_kwargs": {"truncation_side": "left"}}`, "whole": "{" + class + "}"}, "committee reads the question", false},
	} {
		r, err := open(c.files)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := outputs(r.Score(ctx, "the question", []string{long}, RerankOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		if c.identity {
			sigmoid(got)
		}
		want, err := outputs(plain.Score(ctx, "the question", []string{c.text}, RerankOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		close32(t, name, got, want, 1e-5)
	}
	for name, files := range map[string]map[string]string{
		"activation":    {"modules.json": modules, "transformer": "{" + scores + "}", "whole": "{" + class + `, "activation_fn": "torch.nn.modules.activation.Softmax"}`},
		"task":          {"modules.json": modules, "transformer": `{"max_seq_length": 9}`, "whole": "{" + class + "}"},
		"output":        {"modules.json": modules, "transformer": "{" + scores + `, "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}, "module_output_name": "scores"}`, "whole": "{" + class + "}"},
		"module":        {"modules.json": strings.Replace(modules, "]", `, {"name": "1", "path": "1", "type": "sentence_transformers.models.Pooling"}]`, 1), "transformer": "{" + scores + "}", "whole": "{" + class + "}"},
		"prompt":        {"modules.json": modules, "transformer": "{" + scores + "}", "whole": "{" + class + `, "prompts": {"a": "the "}, "default_prompt_name": "query"}`},
		"configuration": {"modules.json": modules, "transformer": "{" + scores + `, "config_kwargs": {"num_labels": 3}}`, "whole": "{" + class + "}"},
	} {
		if _, err := open(files); !errors.Is(err, fault.ErrFolder) && !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s: error %v, want a fault.ErrFolder or fault.ErrConfig", name, err)
		}
	}
}

// TestRerankLowerCase has a tokenizer that leaves the case of texts as it is.
func TestRerankLowerCase(t *testing.T) {
	file, err := os.ReadFile("testdata/rerank/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	cased := strings.Replace(string(file), `"lowercase": true`, `"lowercase": false`, 1)
	if cased == string(file) {
		t.Fatal("tokenizer.json has no lowercase that is true")
	}
	score := func(lower, text string) float32 {
		t.Helper()
		r, err := OpenReranker(".", Options{FS: overlay("rerank", map[string]string{
			"tokenizer.json":                    cased,
			"tokenizer_config.json":             `{"tokenizer_class": "PreTrainedTokenizerFast"}`,
			"modules.json":                      `[{"name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]`,
			"sentence_bert_config.json":         `{"transformer_task": "sequence-classification", "do_lower_case": ` + lower + `}`,
			"config_sentence_transformers.json": `{"model_type": "CrossEncoder"}`,
		})})
		if err != nil {
			t.Fatal(err)
		}
		scores, err := outputs(r.Score(context.Background(), "question", []string{text}, RerankOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		return scores[0]
	}
	want := score("0", "the student")
	if have := score(`"yes"`, "THE Student"); have != want {
		t.Errorf("with do_lower_case: %v, want %v", have, want)
	}
	if score("0", "THE Student") == want {
		t.Error("without it, capitals count for nothing")
	}
}

// TestRerankActivation has the activation in config.json, in its two places.
func TestRerankActivation(t *testing.T) {
	const identity = `"torch.nn.modules.linear.Identity"`
	file, err := os.ReadFile("testdata/rerank/config.json")
	if err != nil {
		t.Fatal(err)
	}
	for fields, want := range map[string]bool{
		`"sentence_transformers": {"activation_fn": ` + identity + `}`:                                                 false,
		`"sbert_ce_default_activation_function": ` + identity:                                                          false,
		`"sbert_ce_default_activation_function": "my.Identity"`:                                                        true,
		`"sentence_transformers": {"activation_fn": null}, "sbert_ce_default_activation_function": ` + identity:        true,
		`"sentence_transformers": {"version": "4.0.0"}, "sbert_ce_default_activation_function": ` + identity:           false,
		`"sentence_transformers": {"activation_fn": "torch.nn.Sigmoid"}, "sbert_ce_default_activation_function": null`: true,
	} {
		r, err := OpenReranker(".", Options{FS: overlay("rerank", map[string]string{"config.json": strings.Replace(string(file), "{", "{"+fields+",", 1)})})
		if err != nil {
			t.Errorf("%s: %v", fields, err)
			continue
		}
		x := []float32{0}
		if r.activation(x); x[0] != 0.5 == want {
			t.Errorf("%s: the score of 0 is %v, a sigmoid is %v", fields, x[0], want)
		}
	}
}

func TestEntities(t *testing.T) {
	var want struct {
		Texts                             []string
		None, Simple, First, Average, Max [][]Entity
	}
	readExpected(t, "tokens", &want)
	c, err := OpenTokenClassifier("testdata/tokens", Options{BatchTokens: 40})
	if err != nil {
		t.Fatal(err)
	}
	for how, results := range map[Aggregation][][]Entity{AggregateNone: want.None, AggregateSimple: want.Simple, AggregateFirst: want.First, AggregateAverage: want.Average, AggregateMax: want.Max} {
		got, err := outputs(c.Entities(context.Background(), want.Texts, EntityOptions{Aggregation: how}))
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
				if how == AggregateNone {
					checkLogits(t, c, want.Texts[i], e)
				}
				if e.Label != w.Label || e.StartChar != w.StartChar || e.EndChar != w.EndChar {
					t.Errorf("aggregation %d, text %d: %v, want %v", how, i, e, w)
				}
				close32(t, "score", []float32{e.Score}, []float32{w.Score}, 1e-5)
			}
		}
	}
}

// checkLogits wants the logits of the token of an entity to be those that its label and score are
// of.
func checkLogits(t *testing.T, c *TokenClassifier, text string, of Entity) {
	t.Helper()
	all, counts, err := counted(c.Logits(context.Background(), []string{text}, InputOptions{}))
	if err != nil || counts.Tokens[0] != len(all[0]) {
		t.Fatalf("logits of %d tokens of %d, error %v", len(all[0]), counts.Tokens, err)
	}
	found := 0
	for _, token := range all[0] {
		if token.Special || token.Start != of.Start || token.End != of.End {
			continue
		}
		found++
		p := slices.Clone(token.Logits)
		softmax(p)
		if at := slices.Index(c.Labels(), of.Label); at != argmax(p) {
			t.Errorf("%q: the largest logit is not that of %s", text[of.Start:of.End], of.Label)
		}
		close32(t, "score by logits", []float32{slices.Max(p)}, []float32{of.Score}, 1e-6)
	}
	if found != 1 {
		t.Errorf("%d tokens at %d to %d of %q", found, of.Start, of.End, text)
	}
}
