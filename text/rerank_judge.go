// Language models as rerankers: whether a text answers a query, by yes and no.

package text

import (
	"cmp"
	"context"
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
	base        *base
	asked       *models.Judge
	begin, end  []int // tokens around the pair
	separator   []int // between a query that has tokens of its own, and the text
	yes, no     int
	instruction string
	room        int // most tokens between begin and end; 0: no limit
}

// openJudge returns the judge of a folder whose language model is asked in this way.
func openJudge(f *base, asked *models.Judge) (*judge, error) {
	j := &judge{base: f, asked: asked, instruction: cmp.Or(f.options.Instruction, asked.Instruction)}
	for _, part := range []struct {
		to   *[]int
		text string
	}{{&j.begin, asked.Begin}, {&j.end, asked.End}, {&j.separator, asked.Separator}} {
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
		return nil, check.InFile("modules.json", fault.ErrFolder, folder.Errorf("want a chat template that asks as that of %s does", asked.Name))
	}
	around, limit := len(j.begin)+len(j.end), asked.Limit
	if asked.Query != "" {
		limit += around
	}
	if err := f.setLimit(limit); err != nil {
		return nil, err
	}
	if f.limit > 0 {
		if j.room = f.limit - around; j.room <= 4*len(j.separator) {
			return nil, check.Option("MaxLength", f.options.MaxLength, "the prompt around a pair has %d tokens", around)
		}
	}
	f.warning("a language model without a word of being a reranker: taken for a " + asked.Name + ", by whose prompt it is asked")
	return j, nil
}

// scores hands the difference of the logits of yes and no for each pair to use. All pairs have the
// same query.
func (j *judge) scores(ctx context.Context, _ string, inputs []Input, o InputOptions, use func(i int, logits []float32)) (Counts, error) {
	f := j.base
	query, cut, err := j.query(f, inputs, o)
	if err != nil {
		return Counts{}, err
	}
	pairs := make([]Input, len(inputs))
	for i, in := range inputs {
		pairs[i].Text = j.fill(j.asked.Pair, in)
	}
	limit := j.room
	if limit > 0 {
		limit -= len(query)
	}
	before := slices.Concat(j.begin, query)
	c := &queue.Call{
		Between: func(e *tokenizer.Encoding) *tokenizer.Encoding {
			n := windows.OfIDs(slices.Concat(before, e.IDs, j.end))
			n.Cut = e.Cut + cut
			return n
		},
		Compute: lastLogits(f, j.yes, j.no),
		Finish:  func(in *queue.Input, results [][]float32) { use(in.Number, results[0]) },
	}
	return f.serveInputs(ctx, c, pairs, "", limit, tokenizer.Options{}, o)
}

// query returns the tokens of the query with the separator after them, none where the pair has it,
// and how many were cut off: as the authors of mxbai-rerank-v2 do, a query has at most three
// quarters of the room.
func (j *judge) query(f *base, inputs []Input, o InputOptions) (ids []int, cut int, err error) {
	if j.asked.Query == "" || len(inputs) == 0 {
		return nil, 0, nil
	}
	form := j.asked.Query
	if j.instruction != "" {
		form = j.asked.Instructed
	}
	splitter, err := f.splitterFor(j.room*3/4, plainTokens, o)
	if err != nil {
		return nil, 0, err
	}
	parts, err := splitter.Split(0, windows.Text{First: j.fill(form, inputs[0])})
	if err != nil {
		return nil, 0, err
	}
	return slices.Concat(parts[0].IDs, j.separator), parts[0].Cut, nil
}

// fill returns a part of the prompt for a pair.
func (j *judge) fill(form string, pair Input) string {
	return strings.NewReplacer("{instruction}", j.instruction, "{query}", pair.Text, "{text}", pair.Second).Replace(form)
}

// lastLogits returns a computation of the logit of a token after each window, less that of another
// one unless that is negative.
func lastLogits(f *base, yes, no int) queue.Computation {
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
			score := logits[yes]
			if no >= 0 {
				score -= logits[no]
			}
			result(i, []float32{score})
		}
		return nil
	}
}
