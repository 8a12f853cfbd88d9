// Language models as rerankers: whether a text answers a query, by yes and no.

package text

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// judge is a language model that says yes or no to a pair of texts.
type judge struct {
	asked       *models.Judge
	begin, end  []int // tokens around the pair
	yes, no     int
	instruction string
}

// openJudge returns the judge of a folder whose language model is asked in this way.
func openJudge(f *base, asked *models.Judge) (*judge, error) {
	j := &judge{asked: asked, instruction: cmp.Or(f.options.Instruction, asked.Instruction)}
	for _, part := range []struct {
		to   *[]int
		text string
	}{{&j.begin, asked.Begin}, {&j.end, asked.End}} {
		e, err := f.tokenizer.Encode(part.text, plainTokens)
		if err != nil {
			return nil, err
		}
		*part.to = e.IDs
	}
	for word, to := range map[string]*int{asked.Yes: &j.yes, asked.No: &j.no} {
		id, ok := f.tokenizer.TokenID(word)
		if !ok {
			return nil, check.InFile("tokenizer.json", fault.ErrFolder, folder.Errorf("no token %q, of which a language model's score as a reranker is made", word))
		}
		*to = id
	}
	// sentence-transformers asks by the folder's chat template, which has to be this prompt.
	if _, err := fs.Stat(f.fsys, "modules.json"); err == nil && !strings.Contains(f.tokenizer.Config().ChatTemplate, asked.Told) {
		return nil, check.InFile("modules.json", fault.ErrFolder, folder.Errorf("beside a language model whose chat template does not ask as %s's does", asked.Name))
	}
	if err := f.setLimit(asked.Limit); err != nil {
		return nil, err
	}
	if f.limit > 0 && f.limit <= len(j.begin)+len(j.end) {
		return nil, check.Option("MaxLength", f.limit, "the prompt around a pair has %d tokens", len(j.begin)+len(j.end))
	}
	f.warning("a language model without a word of being a reranker: taken for a " + asked.Name + ", by whose prompt it is asked")
	return j, nil
}

// scores hands the difference of the logits of yes and no for each pair to use.
func (j *judge) scores(ctx context.Context, f *base, inputs []Input, o InputOptions, use func(i int, logits []float32)) (Counts, error) {
	pairs := make([]Input, len(inputs))
	for i, in := range inputs {
		pairs[i].Text = fmt.Sprintf(j.asked.Pair, j.instruction, in.Text, in.Second)
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

// compute returns a computation of the difference of the two logits after each window.
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
