// Models that rank a list of texts in one window of tokens.

package text

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// The prompt of jina-reranker-v3, and its authors' limits.
const (
	listBegin = "<|im_start|>system\nYou are a search relevance expert who can determine a ranking of the passages based on how relevant they are to the query. " +
		"If the query is a question, how relevant a passage is depends on how well it answers the question. " +
		"If not, try to analyze the intent of the query and assess how well each passage satisfies the intent. " +
		"If an instruction is provided, you should follow the instruction when determining the ranking.<|im_end|>\n<|im_start|>user\n" +
		"I will provide you with %d passages, each indicated by a numerical identifier. Rank the passages based on their relevance to query: %s\n"
	listInstruction = "<instruct>\n%s\n</instruct>\n"
	listText        = "<passage id=\"%d\">\n%s" + textToken + "\n</passage>\n"
	listEnd         = "<query>\n%s" + queryToken + "\n</query><|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"

	textToken, queryToken = "<|embed_token|>", "<|rerank_token|>" // at their hidden states a text and the query have their vectors

	longestList, longestText, longestQuery = 125, 2048, 512

	textPart, queryPart = 2, 8 // a text has at most a half of MaxLength, a query an eighth

	joinTokens = 4 // more that a text may have in a window than by itself
)

// ranker scores lists of texts: a window has the query and several texts, and a score is the cosine
// of two vectors.
type ranker struct {
	text, query int // the special tokens
	positions   int // most tokens of a window; 0: no limit
	frame, each int // tokens of a window without texts and query, and of what it has around each text
}

// openRanker returns the ranker of a folder.
func openRanker(f *base) (*ranker, error) {
	r := &ranker{positions: f.model.Config.MaxLength}
	for token, to := range map[string]*int{textToken: &r.text, queryToken: &r.query} {
		id, ok := f.tokenizer.TokenID(token)
		if !ok {
			return nil, check.InFile("tokenizer.json", fault.ErrFolder, folder.Errorf("no token %q, at which a reranker of lists has its vectors", token))
		}
		*to = id
	}
	if err := f.setLimit(0); err != nil {
		return nil, err
	}
	if f.limit > 0 && f.limit < queryPart {
		return nil, check.Option("MaxLength", f.options.MaxLength, "want at least %d, because a query has at most an eighth of it", queryPart)
	}
	for part, to := range map[string]*int{r.prompt("", nil, f.options.Instruction): &r.frame, fmt.Sprintf(listText, longestList, ""): &r.each} {
		e, err := f.tokenizer.Encode(part, tokenizer.Options{})
		if err != nil {
			return nil, err
		}
		*to = len(e.IDs)
	}
	return r, nil
}

// textList is a window of several texts.
type textList struct {
	first   int // the number of its first text
	texts   []string
	vectors [][]float32 // of the texts, and of the query after them
}

// scores returns the score of each text.
func (r *ranker) scores(ctx context.Context, f *base, query string, texts []string, o RerankOptions) ([]float32, Counts, error) {
	lists, counts, err := r.lists(ctx, f, &query, texts, o)
	if err != nil || len(lists) == 0 {
		return nil, counts, err
	}
	// Tokens that arise where parts meet may be more than lists counts with: then a window is
	// refused, too.
	splitter, err := f.splitterFor(r.positions, tokenizer.Options{}, InputOptions{Long: LongRefuse})
	if err != nil {
		return nil, Counts{}, err
	}
	told := &progress{all: len(texts), tell: o.Progress}
	c := &queue.Call{
		Size: len(lists),
		Text: func(i int) windows.Text {
			return windows.Text{First: r.prompt(query, lists[i].texts, f.options.Instruction)}
		},
		Splitter: splitter,
		Compute:  r.compute(f),
		Finish: func(in *queue.Input, results [][]float32) {
			l := &lists[in.Number]
			r.count(counts.Tokens[l.first:], in.Windows[0].IDs)
			width := len(results[0]) / (len(l.texts) + 1)
			for i := range len(l.texts) + 1 {
				l.vectors = append(l.vectors, append([]float32(nil), results[0][i*width:(i+1)*width]...))
			}
			for range l.texts {
				told.add()
			}
		},
	}
	err = f.do(ctx, c, told, &counts)
	if failed := (*InputError)(nil); errors.As(err, &failed) {
		failed.Number = lists[failed.Number].first
	}
	if err != nil {
		return nil, Counts{}, err
	}
	return listScores(lists, len(texts), o.Apart), counts, nil
}

// lists cuts the query and the texts, and puts the texts into lists as the model's authors do: a
// list ends where another of the longest texts may not fit. The authors count only the texts and
// the query; a list also ends where the whole window would have more tokens than the model has
// positions.
func (r *ranker) lists(ctx context.Context, f *base, query *string, texts []string, o RerankOptions) ([]textList, Counts, error) {
	limit := f.limit
	if limit == 0 {
		limit = math.MaxInt / 2
	}
	longest := min(longestText, limit/textPart)
	length, queryCut, err := r.cut(f, query, min(longestQuery, limit/queryPart), 0, o.InputOptions)
	if err != nil {
		return nil, Counts{}, err
	}
	positions := r.positions
	if positions == 0 {
		positions = math.MaxInt / 2
	}
	counts, room, left := newCounts(len(texts)), 0, 0 // left: positions of the window
	var lists []textList
	for i, t := range texts {
		if err := context.Cause(ctx); err != nil {
			return nil, Counts{}, err
		}
		n, cut, err := r.cut(f, &t, longest, i, o.InputOptions)
		if err != nil {
			return nil, Counts{}, &InputError{i, err}
		}
		counts.Windows[i], counts.Cut[i] = 1, cut || queryCut
		all := n + r.each + joinTokens
		if i == 0 || o.Apart || room <= longest || left < all || len(lists[len(lists)-1].texts) == longestList {
			lists, room, left = append(lists, textList{first: i}), limit-2*length, positions-r.frame-2*(length+joinTokens)
			if left < all {
				return nil, Counts{}, &InputError{i, fmt.Errorf("%w: with the prompt it has %d, at most %d are possible", fault.ErrTooLong, positions-left+all, positions)}
			}
		}
		l := &lists[len(lists)-1]
		l.texts, room, left = append(l.texts, t), room-n, left-all
	}
	return lists, counts, nil
}

// cut cuts a text to a number of tokens, removes the special tokens from it, and returns how many
// tokens it had then.
func (r *ranker) cut(f *base, text *string, limit, number int, o InputOptions) (n int, cut bool, err error) {
	splitter, err := f.splitterFor(limit, tokenizer.Options{}, o)
	if err != nil {
		return 0, false, err
	}
	parts, err := splitter.Split(number, windows.Text{First: *text})
	if err != nil {
		return 0, false, err
	}
	if e := parts[0]; len(e.IDs) >= limit {
		*text = f.tokenizer.Decode(e.IDs, false)
	}
	special := strings.NewReplacer(queryToken, "", textToken, "")
	for strings.Contains(*text, textToken) || strings.Contains(*text, queryToken) { // one may remain where another was
		*text = special.Replace(*text)
	}
	return len(parts[0].IDs), parts[0].Cut > 0, nil
}

// prompt returns the text of a window.
func (r *ranker) prompt(query string, texts []string, instruction string) string {
	var b strings.Builder
	fmt.Fprintf(&b, listBegin, len(texts), query)
	if instruction != "" {
		fmt.Fprintf(&b, listInstruction, instruction)
	}
	for i, t := range texts {
		fmt.Fprintf(&b, listText, i, t)
	}
	fmt.Fprintf(&b, listEnd, query)
	return b.String()
}

// count counts the tokens of a window for its texts: those up to the special token of each, and the
// rest for the last.
func (r *ranker) count(tokens, ids []int) {
	at := 0
	for _, id := range ids {
		tokens[at]++
		if id == r.text && at+1 < len(tokens) {
			at++
		}
	}
}

// compute returns a computation of the vectors of each window: at the tokens after texts, and then
// at that after the query.
func (r *ranker) compute(f *base) queue.Computation {
	head := f.model.Heads[models.HeadRanking]
	return f.fromStates(func(ws *models.Workspace, x []float32, in models.Tokens, result func(i int, x []float32)) error {
		dim, end := f.model.Encoder.Dim(), make([]int, in.Batch.Len()) // where the rows of a window end among those that count
		var rows []float32                                             // [rows that count, D]
		for i := range end {
			for at := in.Batch.Start(i); at < in.Batch.Start(i+1); at++ {
				if id := in.IDs[at]; id == r.text || id == r.query {
					rows = append(rows, x[at*dim:(at+1)*dim]...)
				}
			}
			end[i] = len(rows) / dim
		}
		n := len(rows) / dim
		y := ws.Alloc(n * head.Out()) // [rows that count, width of vectors]
		if err := head.Forward(ws, y, rows, models.Tokens{Batch: transformer.Uniform(n, 1)}); err != nil {
			return err
		}
		for i, begin := 0, 0; i < len(end); i, begin = i+1, end[i] {
			result(i, y[begin*head.Out():end[i]*head.Out()])
		}
		return nil
	})
}

// listScores returns the scores of n texts in lists. Unless they are apart, the query's vector is
// the mean of those in all lists, weighed by (1 + c) / 2, where c is the best cosine of the list.
func listScores(lists []textList, n int, apart bool) []float32 {
	scores, mean, last := make([]float32, n), []float64(nil), 0
	for _, l := range lists {
		last = len(l.texts)
		query, best := widened(l.vectors[last]), -1.0
		for i, v := range l.vectors[:last] {
			c := cosine(query, widened(v))
			scores[l.first+i], best = float32(c), max(best, c)
		}
		if mean == nil {
			mean = make([]float64, len(query))
		}
		for d, v := range query {
			mean[d] += float64((1 + best) / 2 * v)
		}
	}
	if apart || len(lists) == 1 {
		return scores
	}
	for _, l := range lists {
		for i, v := range l.vectors[:len(l.texts)] {
			scores[l.first+i] = float32(cosine(mean, widened(v)))
		}
	}
	return scores
}

func widened(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// cosine returns the cosine of the angle between two vectors, 0 if one is zero.
func cosine(a, b []float64) float64 {
	var dot, aa, bb float64
	for i, x := range a {
		dot, aa, bb = dot+float64(x*b[i]), aa+float64(x*x), bb+float64(b[i]*b[i])
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / (math.Sqrt(aa) * math.Sqrt(bb))
}
