// Sparse vectors, and vectors of each token, with their scores.

package text

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// SparseVector is a vector with an element for each token of the vocabulary; it holds those that
// are not 0.
type SparseVector = models.SparseVector

// moreVectors says which vectors an Embedder makes in addition to one for each text.
type moreVectors struct {
	sparse  models.SparseHead     // nil: none
	vectors *models.TokenEmbedder // nil: none
	marks   [2]mark               // of queries and documents
	extra   int                   // the token that lengthens queries
	skip    map[int]bool          // tokens without vectors
}

// mark goes before a text: a token, or -1 if there is no token, and text.
type mark struct {
	token int
	text  string
}

// openOutputs finds out which vectors there are.
func (e *Embedder) openOutputs() error {
	m := e.model
	e.sparse, e.vectors = m.Embedders.Sparse, m.Embedders.Tokens
	if e.sparse == nil && e.bare && m.Serves(models.UseMasks) {
		e.sparse = m.Splade()
	}
	v := e.vectors
	if v == nil {
		return nil
	}
	e.marks = [2]mark{e.mark(v.QueryMark), e.mark(v.DocumentMark)}
	if e.tokenizer.Config().TruncateLeft && max(e.marks[0].token, e.marks[1].token) >= 0 { // the mark would go first
		return check.InFile("tokenizer_config.json", fault.ErrFolder, folder.Errorf("truncation_side left beside the query_prefix and document_prefix of late interaction is not supported"))
	}
	e.skip = map[int]bool{}
	for _, word := range v.Skip {
		if id, ok := e.tokenizer.TokenID(word); ok {
			e.skip[id] = true
		}
	}
	if v.Expansion == nil {
		return nil
	}
	token := v.Expansion.Token
	if token == "" {
		if token = e.tokenizer.Config().Special["mask_token"]; token == "" {
			token = e.tokenizer.Config().Special["eos_token"]
		}
	}
	id, ok := e.tokenizer.TokenID(token)
	if !ok {
		return check.InFile("tokenizer.json", fault.ErrFolder, folder.Errorf("no token %q, by which queries are lengthened", token))
	}
	e.extra = id
	return nil
}

// mark returns a prefix as one token where the vocabulary has it, or its first word, and as text
// else.
func (e *Embedder) mark(prefix string) mark {
	word, rest, _ := strings.Cut(prefix, " ")
	for _, m := range []struct{ token, rest string }{{prefix, ""}, {word, rest}} {
		if id, ok := e.tokenizer.TokenID(m.token); ok && m.token != "" {
			return mark{id, m.rest}
		}
	}
	return mark{-1, prefix}
}

// HasDense reports whether Embed applies: whether one vector of a text can be made.
func (e *Embedder) HasDense() bool { return e.pool.Dim() > 0 }

// HasSparse reports whether EmbedSparse applies: to folders such as those of SPLADE and BGE-M3, and
// to a masked language model whose folder does not say what it is for.
func (e *Embedder) HasSparse() bool { return e.sparse != nil }

// HasMultiVector reports whether EmbedMultiVector applies.
func (e *Embedder) HasMultiVector() bool { return e.vectors != nil }

// MultiVectorDim returns the number of elements of the vectors that EmbedMultiVector makes.
func (e *Embedder) MultiVectorDim() int {
	if e.vectors == nil {
		return 0
	}
	return e.vectors.Dim()
}

// EmbedSparse returns a sparse vector of each input. If LongSplit makes several windows of a text,
// each element is the largest of them.
func (e *Embedder) EmbedSparse(ctx context.Context, inputs []Input, o EmbedOptions) (Results[SparseVector], error) {
	var none Results[SparseVector]
	if e.sparse == nil {
		return none, fmt.Errorf("%w: the model makes no sparse vectors", fault.ErrInput)
	}
	if err := o.forTokens(); err != nil {
		return none, err
	}
	before, limit, err := e.prompt(o.Prompt)
	if err != nil {
		return none, err
	}
	out := make([]SparseVector, len(inputs))
	c := &queue.Call{
		Kind: -2,
		Compute: e.fromStates(func(ws *models.Workspace, x []float32, in models.Tokens, result func(i int, x []float32)) error {
			return e.sparse.Weigh(ws, x, in, func(i int, v SparseVector) { result(i, flat(v)) })
		}),
		Finish: func(in *queue.Input, results [][]float32) { out[in.Number] = united(results).Largest(e.pool.MaxActive) },
	}
	n, err := e.serveInputs(ctx, c, inputs, before, e.limitOf(limit), e.encoding(), o.InputOptions)
	return results(out, n, err)
}

// flat returns a sparse vector as numbers, pairs of the bits of an index and a value.
func flat(v SparseVector) []float32 {
	x := make([]float32, 0, 2*len(v))
	for _, w := range v {
		x = append(x, math.Float32frombits(uint32(w.Index)), w.Value)
	}
	return x
}

// united returns the largest of each element of several flat vectors.
func united(flat [][]float32) SparseVector {
	v := SparseVector{}
	for _, x := range flat {
		for i := 0; i < len(x); i += 2 {
			v = append(v, models.TokenWeight{Index: int(math.Float32bits(x[i])), Value: x[i+1]})
		}
	}
	if len(flat) < 2 {
		return v
	}
	slices.SortStableFunc(v, func(a, b models.TokenWeight) int { return a.Index - b.Index })
	kept := v[:0]
	for _, w := range v {
		if n := len(kept); n > 0 && kept[n-1].Index == w.Index {
			kept[n-1].Value = max(kept[n-1].Value, w.Value)
			continue
		}
		kept = append(kept, w)
	}
	return kept
}

// EmbedMultiVector returns a vector of MultiVectorDim elements for each token of each input, for
// late interaction: see MaxSim. With the Prompt "query" the inputs are queries, which models may
// lengthen by tokens of their own; with any other they are documents: "" and "document" are the
// same. If LongSplit makes several windows of an input, it has the vectors of all of them.
func (e *Embedder) EmbedMultiVector(ctx context.Context, inputs []Input, o EmbedOptions) (Results[[][]float32], error) {
	var none Results[[][]float32]
	if e.vectors == nil {
		return none, fmt.Errorf("%w: the model makes no vectors of single tokens for late interaction", fault.ErrInput)
	}
	if err := o.forTokens(); err != nil {
		return none, err
	}
	prompt, query := o.Prompt, o.Prompt == "query"
	if prompt == "" && e.pool.DefaultPrompt == "" {
		prompt = "document"
	}
	before, limit, err := e.prompt(prompt)
	if err != nil {
		return none, err
	}
	out := make([][][]float32, len(inputs))
	dim := e.vectors.Dim()
	c := &queue.Call{
		Kind: -3,
		Compute: e.fromStates(func(ws *models.Workspace, x []float32, in models.Tokens, result func(i int, x []float32)) error {
			y := ws.Alloc(in.Batch.Rows() * dim) // [rows, D]
			if err := e.vectors.Project(ws, y, x, in.Batch.Rows()); err != nil {
				return err
			}
			for i := range in.Batch.Len() {
				result(i, y[in.Batch.Start(i)*dim:in.Batch.Start(i+1)*dim])
			}
			return nil
		}),
		Finish: func(in *queue.Input, results [][]float32) {
			for w, rows := range results {
				out[in.Number] = append(out[in.Number], e.counted(in.Windows[w], rows, query)...)
			}
		},
	}
	limit = e.limitOf(limit)
	m := e.marks[1]
	var lengthen *models.Expansion
	if query {
		m = e.marks[0]
		if lengthen = e.vectors.Expansion; lengthen != nil {
			switch {
			case lengthen.Fixed:
				limit = lengthen.Length
			case e.pool.QueryLength > 0:
				limit = least(max(e.pool.QueryLength, lengthen.Length), e.options.MaxLength)
			default:
				limit = e.limit
			}
		}
	}
	c.Between = func(w *tokenizer.Encoding) *tokenizer.Encoding {
		if m.token >= 0 {
			w = withToken(w, m.token)
		}
		if lengthen != nil {
			w = lengthened(w, e.extra, lengthen.Length, lengthen.Attend)
		}
		return w
	}
	if m.token >= 0 && limit > 0 {
		limit--
	}
	n, err := e.serveInputs(ctx, c, inputs, m.text+before, limit, e.encoding(), o.InputOptions)
	return results(out, n, err)
}

// counted returns a copy of the rows, [tokens, D], that are vectors of a text.
func (e *Embedder) counted(w *tokenizer.Encoding, rows []float32, query bool) [][]float32 {
	dim, vectors := e.vectors.Dim(), [][]float32{}
	rows = slices.Clone(rows)
	for i, id := range w.IDs {
		if e.vectors.SkipUnseen && !w.Attention[i] || i == 0 && e.vectors.SkipFirst || (!query || e.vectors.SkipInQueries) && e.skip[id] {
			continue
		}
		if (i+1)*dim <= len(rows) {
			vectors = append(vectors, rows[i*dim:(i+1)*dim:(i+1)*dim])
		}
	}
	return vectors
}

// withToken is e with a token after its first.
func withToken(e *tokenizer.Encoding, id int) *tokenizer.Encoding {
	at := min(1, len(e.IDs))
	return &tokenizer.Encoding{
		IDs: slices.Insert(slices.Clone(e.IDs), at, id), TypeIDs: slices.Insert(slices.Clone(e.TypeIDs), at, 0), Cut: e.Cut,
		Special: slices.Insert(slices.Clone(e.Special), at, true), Attention: slices.Insert(slices.Clone(e.Attention), at, true),
	}
}

// lengthened is e with tokens added at its end until it has a length; the other tokens see them or
// not.
func lengthened(e *tokenizer.Encoding, id, length int, seen bool) *tokenizer.Encoding {
	n := &tokenizer.Encoding{IDs: slices.Clone(e.IDs), TypeIDs: slices.Clone(e.TypeIDs), Special: slices.Clone(e.Special), Attention: slices.Clone(e.Attention), Cut: e.Cut}
	for len(n.IDs) < length {
		n.IDs, n.TypeIDs, n.Special, n.Attention = append(n.IDs, id), append(n.TypeIDs, 0), append(n.Special, true), append(n.Attention, seen)
	}
	return n
}

// MaxSim returns how well a document's vectors match those of a query: the sum, over the query's,
// of the largest inner product with one of the document's; 0 without any. The vectors of both have
// one width.
func MaxSim(query, document [][]float32) float32 {
	sum := 0.0
	for _, q := range query {
		best := math.Inf(-1)
		for _, d := range document {
			dot := float32(0)
			for i, v := range q {
				dot += v * d[i]
			}
			best = max(best, float64(dot))
		}
		if len(document) > 0 {
			sum += best
		}
	}
	return float32(sum)
}

// Interact is MaxSim as the model's folder defines it: divided by the number of the query's vectors
// if the folder says so.
func (e *Embedder) Interact(query, document [][]float32) float32 {
	score := MaxSim(query, document)
	if e.vectors != nil && e.vectors.MeanScore && len(query) > 0 {
		score /= float32(len(query))
	}
	return score
}

// EmbedTokens returns the hidden states of all tokens of each input, [tokens][width of the model],
// special tokens and those of the prompt included, before they are pooled, cut or scaled. If
// LongSplit makes several windows of an input, the error matches fault.ErrInput.
func (e *Embedder) EmbedTokens(ctx context.Context, inputs []Input, o EmbedOptions) (Results[[][]float32], error) {
	if err := o.forTokens(); err != nil {
		return Results[[][]float32]{}, err
	}
	before, limit, err := e.prompt(o.Prompt)
	if err != nil {
		return Results[[][]float32]{}, err
	}
	out := make([][][]float32, len(inputs))
	dim := e.model.Encoder.Dim()
	c := &queue.Call{
		Check: func(in *queue.Input) error {
			if len(in.Windows) > 1 {
				return fmt.Errorf("%w: text %d is split into %d windows; vectors of tokens are only for texts that are not split", fault.ErrInput, in.Number, len(in.Windows))
			}
			return nil
		},
		Kind:    -1,
		Compute: e.fromStates(e.states),
		Finish: func(in *queue.Input, results [][]float32) {
			rows := append([]float32(nil), results[0]...) // [tokens, D]
			vectors := make([][]float32, len(rows)/dim)
			for i := range vectors {
				vectors[i] = rows[i*dim : (i+1)*dim : (i+1)*dim]
			}
			out[in.Number] = vectors
		},
	}
	n, err := e.serveInputs(ctx, c, inputs, before, e.limitOf(limit), e.encoding(), o.InputOptions)
	return results(out, n, err)
}

// states returns the hidden states x, [rows, D], window by window: [tokens, D] of each.
func (e *Embedder) states(_ *models.Workspace, x []float32, in models.Tokens, result func(i int, x []float32)) error {
	dim := e.model.Encoder.Dim()
	for i := range in.Batch.Len() {
		result(i, x[in.Batch.Start(i)*dim:in.Batch.Start(i+1)*dim])
	}
	return nil
}
