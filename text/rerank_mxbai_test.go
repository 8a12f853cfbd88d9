package text

import (
	"context"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
)

// TestRerankMxbai compares with what the authors of mxbai-rerank-v2 compute, on every tier. The
// query ends with a question mark, which would be a token with the line break after it if both were
// one text.
func TestRerankMxbai(t *testing.T) {
	var want struct {
		Query, Instruction, Long string
		Texts                    []string
		Logits, Other, Cut       []float32
	}
	readExpected(t, "rerank-mxbai", &want)
	for _, isa := range kernels.Supported() {
		t.Run(isa.String(), func(t *testing.T) {
			defer machine.Use(isa)()
			var warned []string
			logits := func(query string, o Options) ([]float32, Counts) {
				o.Model = models.Options{Warn: func(w string) { warned = append(warned, w) }}
				r, err := OpenReranker("testdata/rerank-mxbai", o)
				if err != nil {
					t.Fatal(err)
				}
				got, n, err := counted(r.Score(context.Background(), query, want.Texts, RerankOptions{Raw: true}))
				if err != nil {
					t.Fatal(err)
				}
				return got, n
			}
			got, n := logits(want.Query, Options{})
			close32(t, "logits", got, want.Logits, 1e-5)
			if n.CutInputs() != 0 {
				t.Errorf("counts %v, want no cut texts", n)
			}
			if len(warned) != 1 || !strings.Contains(warned[0], "mxbai-rerank-v2") {
				t.Errorf("warnings %q, want one about what the model is taken for", warned)
			}
			if isa == kernels.Generic {
				return // slow in emulators
			}
			got, n = logits(want.Query, Options{Instruction: want.Instruction, MaxLength: 400})
			close32(t, "logits with an instruction", got, want.Other, 1e-5)
			if last := len(n.Tokens) - 1; n.Tokens[last] != 400 || !n.Cut[last] || n.Cut[0] {
				t.Errorf("counts %v, want the last text cut to 400 tokens", n)
			}
			got, n = logits(want.Long, Options{MaxLength: 600})
			close32(t, "logits of a long query", got, want.Cut, 1e-5)
			if n.CutInputs() != len(want.Texts) {
				t.Errorf("counts %v, want every input cut, since the query is", n)
			}
		})
	}
}
