// Language models as rerankers: whether a text answers a query, by yes and no.

package text

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// What Qwen3-Reranker was trained with (Zhang et al., 2025, "Qwen3 Embedding: Advancing Text Embedding and
// Reranking Through Foundation Models").
const (
	judgeBegin       = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n"
	judgeEnd         = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
	judgeInstruction = "Given a web search query, retrieve relevant passages that answer the query"
	judgeLimit       = 8192
)

// judge is a language model that says yes or no to a pair of texts.
type judge struct {
	begin, end  []int // tokens around the pair
	yes, no     int
	instruction string
}

// openJudge is the judge of a folder whose language model is Qwen 3's.
func openJudge(f *base) (*judge, error) {
	j := &judge{instruction: f.instruction}
	if j.instruction == "" {
		j.instruction = judgeInstruction
	}
	for _, part := range []struct {
		to   *[]int
		text string
	}{{&j.begin, judgeBegin}, {&j.end, judgeEnd}} {
		e, err := f.tokenizer.Encode(part.text, plainTokens)
		if err != nil {
			return nil, err
		}
		*part.to = e.IDs
	}
	for word, to := range map[string]*int{"yes": &j.yes, "no": &j.no} {
		id, ok := f.tokenizer.TokenID(word)
		if !ok {
			return nil, check.InFile("tokenizer.json", ErrFolder, folder.Errorf("no token %q, of which a language model's score as a reranker is made", word))
		}
		*to = id
	}
	// sentence-transformers asks by the folder's chat template, which has to be this prompt.
	const told = "Judge whether the Document meets the requirements based on the Query and the Instruct provided"
	if _, err := fs.Stat(f.fsys, "modules.json"); err == nil && !strings.Contains(f.tokenizer.Config().ChatTemplate, told) {
		return nil, check.InFile("modules.json", ErrFolder, folder.Errorf("beside a language model whose chat template does not ask as Qwen3-Reranker's does"))
	}
	if err := f.setLimit(judgeLimit); err != nil {
		return nil, err
	}
	if f.limit > 0 && f.limit <= len(j.begin)+len(j.end) {
		return nil, check.Option("MaxLength", f.limit, "the prompt around a pair has %d tokens", len(j.begin)+len(j.end))
	}
	f.warning("a language model without a word of being a reranker: taken for a Qwen3-Reranker, by whose prompt it is asked")
	return j, nil
}

// scores hands the difference of the logits of yes and no for each pair to use.
func (j *judge) scores(ctx context.Context, f *base, inputs []Input, o InputOptions, use func(i int, logits []float32)) (Counts, error) {
	pairs := make([]Input, len(inputs))
	for i, in := range inputs {
		pairs[i].Text = "<Instruct>: " + j.instruction + "\n<Query>: " + in.Text + "\n<Document>: " + in.Second
	}
	limit := f.limit
	if limit > 0 {
		limit -= len(j.begin) + len(j.end)
	}
	c := &queue.Call{
		Between: func(e *tokenizer.Encoding) *tokenizer.Encoding {
			n := windows.OfIDs(slices.Concat(j.begin, e.IDs, j.end))
			n.Cut = e.Cut
			return n
		},
		Compute: j.compute(f),
		Finish:  func(in *queue.Input, results [][]float32) { use(in.Number, results[0]) },
	}
	return f.serveInputs(ctx, c, pairs, "", limit, tokenizer.Options{}, o)
}

// compute is a computation of the difference of the two logits after each window.
func (j *judge) compute(f *base) queue.Computation {
	return func(ws *models.Workspace, in models.Tokens, result func(i int, x []float32)) error {
		defer ws.Release(ws.Mark())
		lm := f.model.LM
		dim, vocab, n := lm.Dim(), lm.Vocab(), in.Batch.Len()
		x := ws.Alloc(in.Batch.Rows() * dim) // [rows, D]
		if err := lm.Hidden(ws, x, in.IDs, in.Batch, nil, nil); err != nil {
			return err
		}
		last := ws.Alloc(n * dim) // [texts, D]
		for i := range n {
			copy(last[i*dim:(i+1)*dim], x[(in.Batch.Start(i+1)-1)*dim:])
		}
		y := ws.Alloc(n * vocab) // [texts, V]
		if err := lm.Logits(ws, y, last); err != nil {
			return err
		}
		for i := range n {
			logits := y[i*vocab : (i+1)*vocab]
			result(i, []float32{logits[j.yes] - logits[j.no]})
		}
		return nil
	}
}

// Instruction says what makes a text fit a query, for a language model as a [Reranker]: in one English sentence.
// Without it, that passages answer a web search.
func Instruction(s string) Option {
	return option("Instruction", s, func(o *options) { o.instruction = s })
}
