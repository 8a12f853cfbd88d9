// Vectors of texts.

package text

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Embedder turns texts into vectors as sentence-transformers does: by the modules, prompts and
// lengths that modules.json and the files next to it say. A folder without modules.json, or with
// one for another model_type in config_sentence_transformers.json, gives means of hidden states, or
// of a language model's the last, and a warning, unless Pooling of [Options] says how. A GGUF file
// of a language model without a pooling needs that option. A folder of a classifier without one is
// an error.
type Embedder struct {
	*base
	pool            *models.SentenceEmbedder
	dim             int
	normalized      bool                      // vectors have length 1
	bare            bool                      // nothing says how vectors are made
	empty, emptyRaw func() ([]float32, error) // the vector of a text without tokens, and that before a normalization
	moreVectors
}

// KindEmbedder is the kind of an [Embedder].
const KindEmbedder Kind = "embedder"

func embedder() record {
	return record{
		KindInfo: KindInfo{Type: "Embedder", Task: "sentence-similarity", Command: "embed", Options: append(slices.Clone(forTexts), "LongSplit", "Dim", "Pooling")},
		kind:     KindEmbedder, use: models.UseStates, open: opening(openEmbedder),
	}
}

// OpenEmbedder opens the model in a folder.
func OpenEmbedder(dir string, o Options) (*Embedder, error) {
	return openIn(dir, o, openEmbedder)
}

func openEmbedder(fsys fs.FS, o Options) (*Embedder, error) {
	fields, err := models.TokenizerFields(fsys, "SentenceTransformer", "SparseEncoder", "MultiVectorEncoder", "ColBERT")
	if err != nil {
		return nil, err
	}
	f, err := openBase(fsys, embedder(), o, fields)
	if err != nil {
		return nil, err
	}
	m := *f.model
	m.Encoder = m.TextEncoder() // that of a language model too
	f.model = &m
	e := &Embedder{base: f, pool: f.model.Embedders.Sentence}
	if e.bare = e.pool == nil; e.bare {
		if e.pool, err = f.bareEmbedder(); err != nil {
			return nil, err
		}
	} else if f.options.Pooling != "" {
		return nil, check.Option("Pooling", f.options.Pooling, "the folder says itself how vectors are made")
	}
	if e.pool.MaxLength > 0 || e.pool.NoUnknown {
		f.limit = e.pool.MaxLength
	}
	if e.pool.NoUnknown {
		f.runes = medianRunes(f.tokenizer, f.model.Config.Vocab)
	}
	if err := f.setLimit(0); err != nil {
		return nil, err
	}
	if e.pool.LowerCase {
		if f.tokenizer, err = f.tokenizer.WithLowercase(); err != nil {
			return nil, err
		}
	}
	if err := e.openOutputs(); err != nil {
		return nil, err
	}
	e.empty, e.emptyRaw = emptyOf(e.pool), emptyOf(e.pool.Raw())
	e.dim, e.normalized = e.pool.Dim(), e.pool.Normalized()
	if f.options.Dim > e.dim {
		return nil, check.Option("Dim", f.options.Dim, "the model's vectors have %d elements", e.dim)
	} else if f.options.Dim > 0 {
		e.dim, e.normalized = f.options.Dim, e.normalized || f.options.Dim < e.dim
	}
	return e, nil
}

// medianRunes returns the median number of characters of a vocabulary's tokens, rounded down.
func medianRunes(t *tokenizer.Tokenizer, vocab int) int {
	var all []int
	for id := range vocab {
		if token, ok := t.Token(id); ok {
			all = append(all, utf8.RuneCountInString(token))
		}
	}
	slices.Sort(all)
	if len(all) == 0 {
		return 0
	}
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// bareEmbedder opens a folder without modules.json as sentence-transformers does. It refuses a
// model that was trained for something else: its vectors would have no meaning, and no error would
// say so.
func (f *base) bareEmbedder() (*models.SentenceEmbedder, error) {
	m := f.model
	if err := m.NoVectors(); err != nil {
		return nil, err
	}
	if f.tokenizer.Config().ChatTemplate != "" && m.LM != nil {
		f.warning("texts become tokens as they are, although there is a chat template: sentence-transformers makes a chat of each text where there is no modules.json")
	}
	if f.options.Pooling != "" {
		return m.PooledEmbedder(f.options.Pooling)
	}
	if _, file := f.fsys.(folder.GGUF); file && m.LM != nil {
		return nil, folder.Errorf("the file has no pooling_type: Options.Pooling, or -pooling, says how hidden states become a vector")
	}
	f.warning("there is no modules.json for a SentenceTransformer: vectors are means of hidden states or, of a ...ForCausalLM, the last of them, as they are; Options.Pooling says another way")
	return m.BareEmbedder(), nil
}

// Warm computes a text.
func (e *Embedder) Warm(ctx context.Context) error {
	_, err := e.Embed(ctx, Texts(hello), EmbedOptions{})
	return warmed(err)
}

// Dim returns the number of elements of a vector.
func (e *Embedder) Dim() int { return e.dim }

// Prompts returns the names of the folder's prompts.
func (e *Embedder) Prompts() []string {
	return slices.Sorted(maps.Keys(e.pool.Prompts))
}

// Prompt returns the text of a prompt, by its name as EmbedOptions has it.
func (e *Embedder) Prompt(name string) (string, error) {
	prompt, _, err := e.prompt(name)
	return prompt, err
}

// Tokens returns the number of tokens that Embed computes for texts. It includes the folder's
// default prompt and leaves out tokens that are cut off. A text that Embed refuses gives the same
// error here.
func (e *Embedder) Tokens(texts []string) (n int, err error) {
	splitter := e.splitter(e.limit, e.encoding())
	for i, t := range texts {
		parts, err := splitter.Split(i, windows.Text{First: e.pool.DefaultPrompt + t})
		if err != nil {
			return 0, err
		}
		for _, p := range parts {
			n += len(p.IDs)
		}
	}
	return n, nil
}

// Scale is the length of an Embedder's vectors.
type Scale int

// The kinds of vectors that a call may ask for.
const (
	ScaleFolder Scale = iota // as the folder's modules make them
	ScaleUnit                // 1
	ScaleRaw                 // as the modules before a last normalization make them
)

// EmbedOptions says how one call makes vectors.
type EmbedOptions struct {
	InputOptions
	// Prompt is the name of the prompt that goes before texts. "" is the folder's default prompt,
	// if it has one. "query" and "document", for questions and for the texts that are searched,
	// need not be among the folder's prompts; they also select the lengths of such texts.
	Prompt string
	// Dim cuts vectors to their first elements, as Options.Dim does; 0: as opened. They keep the
	// length that Scale asks for.
	Dim   int
	Scale Scale
}

// Embed returns the vector of each input, of Dim elements; without inputs there are none. The
// vector of an empty text is that of the special tokens; if the model adds none, it is what the
// modules after the pooling make of zeros.
func (e *Embedder) Embed(ctx context.Context, inputs []Input, o EmbedOptions) (Results[[]float32], error) {
	prompt, limit, err := e.prompt(o.Prompt)
	if err != nil {
		return Results[[]float32]{}, err
	}
	return results(e.embed(ctx, prompt, inputs, limit, o))
}

// forTokens refuses the options that only vectors of whole texts have.
func (o *EmbedOptions) forTokens() error {
	if o.Dim != 0 {
		return check.Option("Dim", o.Dim, "it applies to vectors of whole texts")
	}
	if o.Scale != ScaleFolder {
		return check.Option("Scale", int(o.Scale), "it applies to vectors of whole texts")
	}
	return nil
}

// prompt returns the prompt of a name as EmbedOptions has it, and the most tokens of a text after
// it, 0 for the folder's.
func (e *Embedder) prompt(name string) (prompt string, limit int, err error) {
	if name == "" {
		return e.pool.DefaultPrompt, 0, nil
	}
	prompt, ok := e.pool.Prompts[name]
	switch {
	case name == "query":
		limit = e.pool.QueryLength
	case name == "document":
		limit = e.pool.DocumentLength
	case !ok:
		return "", 0, fmt.Errorf("%w: no prompt %q, the folder has %q", fault.ErrInput, name, e.Prompts())
	}
	return prompt, limit, nil
}

// embed embeds with a prompt, and with a limit of tokens in place of the folder's unless it is 0.
func (e *Embedder) embed(ctx context.Context, prompt string, inputs []Input, limit int, o EmbedOptions) ([][]float32, Counts, error) {
	out := make([][]float32, len(inputs))
	n, err := e.embedTo(ctx, prompt, inputs, limit, o, func(in *queue.Input, vector []float32) { out[in.Number] = vector })
	if err != nil {
		return nil, n, err
	}
	return out, n, nil
}

// embedTo is embed that passes each vector to take. Several goroutines call it, also after a call
// that was cancelled has returned.
func (e *Embedder) embedTo(ctx context.Context, prompt string, inputs []Input, limit int, o EmbedOptions, take func(in *queue.Input, vector []float32)) (Counts, error) {
	if err := context.Cause(ctx); err != nil {
		return Counts{}, err
	}
	if !e.HasDense() {
		return Counts{}, fmt.Errorf("%w: the model makes sparse vectors or those of single tokens, and none of a whole text", fault.ErrInput)
	}
	limit = e.limitOf(limit)
	shape, err := e.shape(o)
	if err != nil {
		return Counts{}, err
	}
	skip, err := e.promptLength(prompt)
	if err != nil {
		return Counts{}, err
	}
	if skip > 0 && slices.ContainsFunc(inputs, func(in Input) bool { return in.IDs != nil }) {
		return Counts{}, fmt.Errorf("%w: tokens with a prompt that 1_Pooling/config.json does not include", fault.ErrInput)
	}
	c := &queue.Call{
		Check: func(in *queue.Input) error {
			for _, w := range in.Windows {
				if n := len(w.IDs); skip > 0 && n <= skip {
					return fmt.Errorf("%w: text %d has %d tokens, of which %d belong to the prompt: none are left for the vector", fault.ErrInput, in.Number, n, skip)
				}
			}
			return nil
		},
		Kind:    2 * skip,
		Compute: pooled(shape.pool, skip),
		Finish:  func(in *queue.Input, results [][]float32) { take(in, shape.joined(in.Windows, results)) },
	}
	if unknown, ok := e.tokenizer.UnknownID(); ok && e.pool.NoUnknown {
		c.Between = func(w *tokenizer.Encoding) *tokenizer.Encoding {
			if !slices.Contains(w.IDs, unknown) {
				return w
			}
			n := windows.OfIDs(slices.DeleteFunc(slices.Clone(w.IDs), func(id int) bool { return id == unknown }))
			n.Cut = w.Cut
			return n
		}
	}
	if o.Scale == ScaleRaw {
		c.Kind++
	}
	return e.serveInputs(ctx, c, inputs, prompt, limit, e.encoding(), o.InputOptions)
}

// limitOf returns the largest number of tokens of a text. limit is that of its prompt, 0 if the
// prompt has no limit.
func (e *Embedder) limitOf(limit int) int {
	if limit = least(limit, e.options.MaxLength); limit == 0 {
		return e.limit
	}
	return limit
}

// shape describes the vectors of a call.
type shape struct {
	pool *models.SentenceEmbedder
	dim  int
	unit bool // length 1, which those of one window and full width have already if the pool's have

	empty []float32 // the vector of a text without tokens
}

func (e *Embedder) shape(o EmbedOptions) (shape, error) {
	s := shape{pool: e.pool, dim: e.dim, unit: e.normalized}
	if o.Dim < 0 || o.Dim > e.dim {
		return s, fmt.Errorf("%w: Dim %d, the vectors have %d elements", fault.ErrInput, o.Dim, e.dim)
	} else if o.Dim > 0 && o.Dim < e.dim {
		s.dim, s.unit = o.Dim, true
	}
	switch o.Scale {
	case ScaleFolder:
	case ScaleUnit:
		s.unit = true
	case ScaleRaw:
		s.pool, s.unit = e.pool.Raw(), false
	default:
		return s, fmt.Errorf("%w: Scale %d", fault.ErrOption, o.Scale)
	}
	empty := e.empty
	if o.Scale == ScaleRaw {
		empty = e.emptyRaw
	}
	var err error
	s.empty, err = empty()
	return s, err
}

// emptyOf returns a function that computes the vector of a text without tokens once.
func emptyOf(pool *models.SentenceEmbedder) func() ([]float32, error) {
	return sync.OnceValues(func() ([]float32, error) { return pool.Empty(new(models.Workspace)) })
}

// promptLength returns how many tokens at the beginning belong to a prompt and do not count, for
// models that were trained to ignore them: the tokens of the prompt by itself, except a special one
// at its end, whether of the tokenizer or of the text.
func (e *Embedder) promptLength(prompt string) (int, error) {
	if prompt == "" || e.pool.IncludePrompt {
		return 0, nil
	}
	if e.options.Long == LongSplit {
		return 0, check.Option("LongSplit", e.options.Stride, "with a prompt that 1_Pooling/config.json does not include")
	}
	splitter := e.splitter(e.limit, e.encoding())
	parts, err := splitter.Split(0, windows.Text{First: prompt})
	if err != nil {
		return 0, err
	}
	alone := parts[0] // cut as texts are
	n := len(alone.IDs)
	if n > 0 && (alone.Special[n-1] || e.tokenizer.IsSpecial(alone.IDs[n-1])) {
		n--
	}
	return n, nil
}

// encoding returns the options with which texts become tokens.
func (e *Embedder) encoding() tokenizer.Options {
	return tokenizer.Options{NoSpecial: e.pool.NoSpecial}
}

// pooled returns a computation of the vector of each window as the model makes it without its first
// tokens.
func pooled(pool *models.SentenceEmbedder, skip int) queue.Computation {
	return func(ws *models.Workspace, in models.Tokens, result func(i int, x []float32)) error {
		defer ws.Release(ws.Mark())
		dim, n := pool.Dim(), in.Batch.Len()
		dst := ws.Alloc(n * dim) // [windows, D]
		if err := pool.EmbedAfter(ws, dst, in, skip); err != nil {
			return err
		}
		for i := range n {
			result(i, dst[i*dim:(i+1)*dim])
		}
		return nil
	}
}

// joined makes one vector of a text's windows: their mean, in which each counts as often as it has
// tokens, cut and scaled as the options say.
func (s shape) joined(windows []*tokenizer.Encoding, vectors [][]float32) []float32 {
	out := make([]float32, s.dim)
	if len(windows) == 1 && vectors[0] != nil {
		copy(out, vectors[0])
	} else if len(windows) == 1 {
		copy(out, s.empty)
	} else if len(windows) > 1 {
		s.mean(out, windows, vectors)
	}
	if s.unit && (len(windows) > 1 || s.dim < s.pool.Dim() || !s.pool.Normalized()) {
		normalize(out)
	}
	return out
}

// mean is out, that of the vectors, in float64, which no sum of theirs overflows.
func (s shape) mean(out []float32, windows []*tokenizer.Encoding, vectors [][]float32) {
	sums, weight := make([]float64, len(out)), 0.0
	for i, v := range vectors {
		if v == nil { // no tokens
			continue
		}
		n := float64(len(windows[i].IDs))
		for j := range sums {
			sums[j] += float64(v[j]) * n
		}
		weight += n
	}
	for j := range out {
		if weight > 0 {
			out[j] = float32(sums[j] / weight)
		}
	}
}

// normalize scales v to length 1; zeros stay.
func normalize(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	scale := 1 / math.Sqrt(sum) // of tiny numbers it is beyond float32
	for i := range v {
		v[i] = float32(float64(v[i]) * scale)
	}
}
