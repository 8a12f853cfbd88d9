package text

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
)

// TestRerankList compares with what the authors of jina-reranker-v3 compute, on every tier: one
// list, several, a query that is cut, and an instruction. One text contains the special tokens at
// which the model has its vectors.
func TestRerankList(t *testing.T) {
	var want struct {
		Texts []string
		Cases []struct {
			Query, Instruction string
			Limit              int
			Scores             []float32
			Lists              []int
		}
		Apart []float32
	}
	readExpected(t, "rerank-list", &want)
	ctx := context.Background()
	for _, isa := range kernels.Supported() {
		t.Run(isa.String(), func(t *testing.T) {
			defer machine.Use(isa)()
			cases := want.Cases
			if isa == kernels.Generic {
				cases = cases[:1] // slow in emulators
			}
			for _, c := range cases {
				r, err := OpenReranker("testdata/rerank-list", Options{MaxLength: c.Limit, Instruction: c.Instruction})
				if err != nil {
					t.Fatal(err)
				}
				done := 0
				o := RerankOptions{InputOptions: InputOptions{Progress: func(n, _ int) { done = n }}}
				got, n, err := counted(r.Score(ctx, c.Query, want.Texts, o))
				if err != nil {
					t.Fatal(err)
				}
				close32(t, "scores", got, c.Scores, 2e-6)
				if totals := r.Totals(); done != len(want.Texts) || int(totals.Tokens) != n.Sum() || slices.Contains(n.Tokens, 0) {
					t.Errorf("%d texts are done, counts %v, totals %v", done, n, totals)
				}
				if cut := n.CutInputs(); c.Limit == 0 && cut != 0 || c.Limit == 320 && cut != 1 || c.Limit == 500 && cut != len(want.Texts) {
					t.Errorf("limit %d: %d texts are cut", c.Limit, cut)
				}
			}
			r, err := OpenReranker("testdata/rerank-list", Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := outputs(r.Score(ctx, want.Cases[0].Query, want.Texts[:2], RerankOptions{Apart: true}))
			if err != nil {
				t.Fatal(err)
			}
			close32(t, "scores apart", got, want.Apart[:2], 2e-6)
		})
	}
}

// TestRerankListHostile has texts that would leave special tokens where others are removed, none at
// all, and too long ones.
func TestRerankListHostile(t *testing.T) {
	var windows atomic.Int32
	r, err := OpenReranker("testdata/rerank-list", Options{OnBatch: func(n, _ int) { windows.Add(int32(n)) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	plain, err := outputs(r.Score(ctx, "fox", []string{"a fox"}, RerankOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a <|embed_<|embed_token|>token|>fox", "a <|rerank_<|embed_token|>token|>fox", strings.Repeat("<|embed_", 20) + strings.Repeat("token|>", 20) + "a fox"} {
		got, err := outputs(r.Score(ctx, "f<|embed_<|rerank_token|>token|>ox", []string{text}, RerankOptions{}))
		if err != nil || got[0] != plain[0] {
			t.Errorf("%q: scores %v, error %v, want %v", text, got, err, plain)
		}
	}
	if got, err := r.Score(ctx, "fox", nil, RerankOptions{}); err != nil || len(got.Outputs) != 0 {
		t.Errorf("no texts: %v, error %v", got, err)
	}
	var at *InputError
	if _, err := r.Score(ctx, "fox", []string{"a", strings.Repeat("fox ", 5000)}, RerankOptions{InputOptions: InputOptions{Long: LongRefuse}}); !errors.Is(err, fault.ErrTooLong) || !errors.As(err, &at) || at.Number != 1 {
		t.Errorf("error %v of a long text, want a fault.ErrTooLong of text 1", err)
	}
	if _, err := OpenReranker("testdata/rerank-list", Options{MaxLength: 7}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("error %v of a MaxLength that leaves nothing of a query, want a fault.ErrOption", err)
	}
	windows.Store(0)
	if _, err := r.Score(ctx, "fox", slices.Repeat([]string{"x"}, 251), RerankOptions{}); err != nil || windows.Load() != 3 {
		t.Errorf("251 texts: %d windows, error %v, want 3", windows.Load(), err)
	}
	read := func(name string) string { return string(tftest.Must(os.ReadFile("testdata/rerank-list/" + name))(t)) }
	files := map[string]string{"config.json": strings.Replace(read("config.json"), "JinaForRanking", "Qwen3ForRanking", 1)}
	if _, err := OpenReranker(".", Options{FS: overlay("rerank-list", files)}); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("error %v of another class, want a fault.ErrConfig", err)
	}
	files = map[string]string{"tokenizer.json": strings.Replace(read("tokenizer.json"), "<|rerank_token|>", "<|other_token|>", 1)}
	if _, err := OpenReranker(".", Options{FS: overlay("rerank-list", files)}); !errors.Is(err, fault.ErrFolder) {
		t.Errorf("error %v without a special token, want a fault.ErrFolder", err)
	}
}

// TestRerankListPositions has short texts that fit into one window by the authors' count, which
// leaves out the prompt around them, but not into the model's positions; and an instruction that
// leaves no place for a text.
func TestRerankListPositions(t *testing.T) {
	const positions = 2000
	config := string(tftest.Must(os.ReadFile("testdata/rerank-list/config.json"))(t))
	files := map[string]string{"config.json": strings.Replace(config, `"max_position_embeddings": 131072`, `"max_position_embeddings": 2000`, 1)}
	var windows, over atomic.Int32
	o := Options{FS: overlay("rerank-list", files), OnBatch: func(n, tokens int) {
		windows.Add(int32(n))
		if tokens > n*positions {
			over.Add(1)
		}
	}}
	ctx, texts := context.Background(), slices.Repeat([]string{"x"}, longestList)
	r := tftest.Must(OpenReranker(".", o))(t)
	if _, err := r.Score(ctx, "fox", texts, RerankOptions{}); err != nil || windows.Load() < 2 || over.Load() > 0 {
		t.Errorf("%d short texts: %d windows, %d batches have more tokens than positions, error %v", len(texts), windows.Load(), over.Load(), err)
	}
	o.Instruction = strings.Repeat("foxes ", positions)
	var at *InputError
	if _, err := tftest.Must(OpenReranker(".", o))(t).Score(ctx, "fox", texts[:2], RerankOptions{}); !errors.Is(err, fault.ErrTooLong) || !errors.As(err, &at) || at.Number != 0 {
		t.Errorf("error %v of a long instruction, want a fault.ErrTooLong of text 0", err)
	}
}

// TestRerankEmpty: an empty query, or text, has a score as others have, and no texts have none,
// whatever kind of model ranks.
func TestRerankEmpty(t *testing.T) {
	for _, name := range []string{"rerank", "rerank-list", "rerank-judge"} {
		r, err := OpenReranker("testdata/"+name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := outputs(r.Score(t.Context(), "", []string{"a cat", ""}, RerankOptions{}))
		if err != nil || len(got) != 2 {
			t.Errorf("%s: scores %v, error %v of an empty query", name, got, err)
		}
		if got, err := outputs(r.Rank(t.Context(), "cat", nil, RerankOptions{})); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, error %v of no texts", name, got, err)
		}
	}
}
