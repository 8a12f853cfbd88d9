// Vectors of texts.

package text

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Embedder turns texts into vectors as sentence-transformers does: by the modules, prompts and
// lengths that modules.json and the files beside it say. A folder without modules.json, or with one for
// another model_type in config_sentence_transformers.json, gives means of hidden states, and a warning, unless it is that of a classifier, which is an error.
type Embedder struct {
	*folder
	pool       *models.SentenceEmbedder
	dim        int
	normalized bool // vectors have length 1
}

// OpenEmbedder opens the model in a folder.
func OpenEmbedder(dir string, opts ...Option) (*Embedder, error) {
	return open(dir, OpenEmbedderFS, opts)
}

// OpenEmbedderFS is OpenEmbedder for a file system whose root is the folder.
func OpenEmbedderFS(fsys fs.FS, opts ...Option) (*Embedder, error) {
	fields, err := models.TokenizerFields(fsys, "SentenceTransformer")
	if err != nil {
		return nil, err
	}
	f, err := openFolderWith(fsys, opts, true, fields)
	if err != nil {
		return nil, err
	}
	e := &Embedder{folder: f, pool: f.model.Sentence}
	if e.pool == nil {
		if e.pool, err = f.bareEmbedder(); err != nil {
			return nil, err
		}
	}
	if e.pool.MaxLength > 0 {
		f.limit = e.pool.MaxLength
	}
	f.setLimit(0)
	if e.pool.LowerCase {
		if f.tokenizer, err = f.tokenizer.WithLowercase(); err != nil {
			return nil, err
		}
	}
	e.dim, e.normalized = e.pool.Dim(), e.pool.Normalized()
	if f.options.dim > e.dim {
		return nil, fmt.Errorf("%w: Dim(%d), the model's vectors have %d elements", ErrOption, f.options.dim, e.dim)
	} else if f.options.dim > 0 {
		e.dim, e.normalized = f.options.dim, true
	}
	return e, nil
}

// bareEmbedder is what sentence-transformers makes of a folder without modules.json. It refuses
// what was trained for something else: the vectors would have no meaning, without a word.
func (f *folder) bareEmbedder() (*models.SentenceEmbedder, error) {
	m, c := f.model, f.model.Config
	switch {
	case m.Classifier != nil || m.TokenClassifier != nil || m.Answer != nil:
		return nil, errorf("config.json: architectures = %q: a model for that makes no vectors of texts without a modules.json that says how", c.Architectures)
	case m.Encoder == nil || m.Audio != nil:
		return nil, errorf("model_type %q has no encoder of tokens, and there is no modules.json", c.ModelType)
	case m.Joint != nil || strings.HasSuffix(c.ModelType, "_text_model"):
		return nil, errorf("model_type %q compares texts with images, by other vectors than means of hidden states", c.ModelType)
	case m.LM != nil && strings.HasSuffix(c.ModelType, "bart"):
		return nil, errorf("model_type %q would make vectors by its decoder, which is not supported", c.ModelType)
	}
	f.warning("there is no modules.json for a SentenceTransformer: vectors are means of hidden states or, of a ...ForCausalLM, the last of them, as they are")
	return m.BareEmbedder(), nil
}

// Dim is the number of elements of a vector.
func (e *Embedder) Dim() int { return e.dim }

// Prompts are the names of the folder's prompts.
func (e *Embedder) Prompts() []string {
	return slices.Sorted(maps.Keys(e.pool.Prompts))
}

// Tokens is the number of tokens of texts as Embed computes with.
func (e *Embedder) Tokens(texts []string) (int, error) {
	var n atomic.Int64
	err := e.queue.serve(context.Background(), &call{
		size:     len(texts),
		source:   func(i int) source { return source{first: texts[i]} },
		splitter: e.splitter(e.limit, tokenizer.Options{}),
		finish: func(in *input, _ [][]float32) {
			for _, w := range in.windows {
				n.Add(int64(len(w.IDs)))
			}
		},
	})
	if err != nil {
		return 0, err
	}
	return int(n.Load()), nil
}

// Embed is the vectors of texts, [len(texts)][Dim], with the prompt that the
// folder makes the default, if any. A text without tokens, which an empty one
// is for models that add no special tokens, gets zeros; other empty texts get
// what the model makes of its special tokens alone.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, e.pool.DefaultPrompt, texts, 0)
}

// EmbedQueries is Embed for questions: with the prompt named "query", without one if the folder
// does not have it.
func (e *Embedder) EmbedQueries(ctx context.Context, queries []string) ([][]float32, error) {
	return e.embed(ctx, e.pool.Prompts["query"], queries, e.pool.QueryLength)
}

// EmbedDocuments is Embed for what is searched: with the prompt named "document", without one if
// the folder does not have it.
func (e *Embedder) EmbedDocuments(ctx context.Context, documents []string) ([][]float32, error) {
	return e.embed(ctx, e.pool.Prompts["document"], documents, e.pool.DocumentLength)
}

// EmbedPrompt is Embed with the prompt of a name.
func (e *Embedder) EmbedPrompt(ctx context.Context, name string, texts []string) ([][]float32, error) {
	p, ok := e.pool.Prompts[name]
	if !ok {
		return nil, fmt.Errorf("%w: no prompt %q, the folder has %q", ErrInput, name, e.Prompts())
	}
	return e.embed(ctx, p, texts, 0)
}

// embed is Embed with a prompt, and with a limit of tokens in the place of the folder's unless 0.
func (e *Embedder) embed(ctx context.Context, prompt string, texts []string, limit int) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if limit = least(limit, e.maxLength); limit == 0 {
		limit = e.limit
	}
	skip, err := e.promptLength(prompt)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	err = e.queue.serve(ctx, &call{
		size:     len(texts),
		source:   func(i int) source { return source{first: prompt + texts[i]} },
		splitter: e.splitter(limit, tokenizer.Options{}),
		check: func(in *input) error {
			for _, w := range in.windows {
				if n := len(w.IDs); skip > 0 && n <= skip {
					return fmt.Errorf("%w: text %d has %d tokens, none behind the %d of the prompt, which do not count", ErrInput, in.number, n, skip)
				}
			}
			return nil
		},
		kind:    skip,
		compute: e.pooled(skip),
		finish:  func(in *input, results [][]float32) { out[in.number] = e.joined(in.windows, results) },
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// promptLength is how many tokens at the beginning are a prompt's and do not count, for
// models trained so: those of the prompt alone, but for a special one at its end, be it of the tokenizer or of the text.
func (e *Embedder) promptLength(prompt string) (int, error) {
	if prompt == "" || e.pool.IncludePrompt {
		return 0, nil
	}
	if e.long == splitLong {
		return 0, fmt.Errorf("%w: SplitLong with a prompt that 1_Pooling/config.json does not include", ErrOption)
	}
	splitter := e.splitter(e.limit, tokenizer.Options{})
	windows, err := splitter.split(0, source{first: prompt})
	if err != nil {
		return 0, err
	}
	alone := windows[0] // cut as texts are
	n := len(alone.IDs)
	if n > 0 && (alone.Special[n-1] || e.tokenizer.IsSpecial(alone.IDs[n-1])) {
		n--
	}
	return n, nil
}

// pooled is a computation of the vector of each window as the model makes it without its first tokens.
func (e *Embedder) pooled(skip int) computation {
	return func(ws *models.Workspace, in models.Tokens, result func(i int, x []float32)) error {
		defer ws.Release(ws.Mark())
		dim, n := e.pool.Dim(), in.Batch.Len()
		dst := ws.Alloc(n * dim) // [windows, D]
		if err := e.pool.EmbedBehind(ws, dst, in, skip); err != nil {
			return err
		}
		for i := range n {
			result(i, dst[i*dim:(i+1)*dim])
		}
		return nil
	}
}

// joined makes one vector of a text's windows: their mean, in which each counts as often as it
// has tokens, cut and scaled as the options say.
func (e *Embedder) joined(windows []*tokenizer.Encoding, vectors [][]float32) []float32 {
	out := make([]float32, e.dim)
	weight := float32(0)
	for i, v := range vectors {
		if v == nil { // no tokens
			continue
		}
		if len(windows) == 1 {
			copy(out, v)
			break
		}
		n := float32(len(windows[i].IDs))
		for j := range out {
			out[j] += v[j] * n
		}
		weight += n
	}
	if weight > 0 {
		for j := range out {
			out[j] /= weight
		}
	}
	if e.normalized && (len(windows) > 1 || e.dim < e.pool.Dim()) {
		normalize(out)
	}
	return out
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
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
}
