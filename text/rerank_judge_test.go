package text

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
)

// TestRerankJudge compares with what the authors of Qwen3-Reranker compute, on every tier.
func TestRerankJudge(t *testing.T) {
	var want struct {
		Query, Instruction string
		Texts              []string
		Scores, Other      []float32
	}
	readExpected(t, "rerank-judge", &want)
	for _, isa := range kernels.Supported() {
		t.Run(isa.String(), func(t *testing.T) {
			defer machine.Use(isa)()
			var warned []string
			r, err := OpenReranker("testdata/rerank-judge", Options{BatchTokens: 700, Model: models.Options{Warn: func(w string) { warned = append(warned, w) }}})
			if err != nil {
				t.Fatal(err)
			}
			if len(warned) != 1 || !strings.Contains(warned[0], "Qwen3-Reranker") {
				t.Errorf("warnings %q, want one about what the model is taken for", warned)
			}
			got, err := outputs(r.Score(context.Background(), want.Query, want.Texts, RerankOptions{}))
			if err != nil {
				t.Fatal(err)
			}
			close32(t, "scores", got, want.Scores, 2e-6)
			raw, err := outputs(r.Score(context.Background(), want.Query, want.Texts, RerankOptions{Raw: true}))
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range raw {
				if p := 1 / (1 + math.Exp(-float64(x))); math.Abs(p-float64(got[i])) > 1e-6 {
					t.Errorf("raw score %v of text %d, whose probability is %v", x, i, got[i])
				}
			}
			r, err = OpenReranker("testdata/rerank-judge", Options{Instruction: want.Instruction, MaxLength: 300})
			if err != nil {
				t.Fatal(err)
			}
			got, n, err := counted(r.Score(context.Background(), want.Query, want.Texts, RerankOptions{}))
			if err != nil {
				t.Fatal(err)
			}
			close32(t, "scores with an instruction", got, want.Other, 2e-6)
			if last := len(n.Tokens) - 1; n.Tokens[last] != 300 || !n.Cut[last] || n.Cut[0] {
				t.Errorf("counts %v, want the last text cut to 300 tokens", n)
			}
		})
	}
	if _, err := OpenReranker("testdata/rerank-judge", Options{MaxLength: 20}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("error %v of no room for texts, want a fault.ErrOption", err)
	}
	asked := `{"tokenizer_class": "Qwen2Tokenizer", "chat_template": "Judge whether the Document meets the requirements based on the Query and the Instruct provided"}`
	for template, ok := range map[string]bool{asked: true, `{"tokenizer_class": "Qwen2Tokenizer"}`: false} {
		_, err := OpenReranker(".", Options{FS: overlay("rerank-judge", map[string]string{"modules.json": `[{"name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}, {"name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]`,
			"1_Pooling/config.json": `{"word_embedding_dimension": 32}`, "tokenizer_config.json": template})})
		if ok != (err == nil) || !ok && !errors.Is(err, fault.ErrFolder) {
			t.Errorf("%s: error %v", template, err)
		}
	}
	if _, err := OpenReranker("testdata/rerank", Options{Instruction: "x"}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("error %v of an instruction for a classifier, want a fault.ErrOption", err)
	}
}
