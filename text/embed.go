// Vectors of texts.

package text

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Embedder turns texts into vectors, as the folder's modules.json says; a
// folder without one gets the mean of the hidden states, as it is.
type Embedder struct {
	*folder
	pool       pooler
	dim        int
	normalized bool // vectors have length 1
	lower      bool
	prompts    map[string]string
	prompt     string // the name of the one that Embed uses
}

// pooler makes the vectors of a batch.
type pooler interface {
	Dim() int
	Embed(ws *models.Workspace, dst []float32, in models.Tokens) error
}

// OpenEmbedder opens the model in a folder.
func OpenEmbedder(dir string, opts ...Option) (*Embedder, error) {
	return open(dir, OpenEmbedderFS, opts)
}

// OpenEmbedderFS is OpenEmbedder for a file system whose root is the folder.
func OpenEmbedderFS(fsys fs.FS, opts ...Option) (*Embedder, error) {
	f, err := openFolder(fsys, opts, true)
	if err != nil {
		return nil, err
	}
	if f.model.Encoder == nil {
		return nil, errorf("model_type %q has no encoder of tokens", f.model.Config.ModelType)
	}
	e := &Embedder{folder: f, pool: meanPooler{f.model.Encoder}}
	if s := f.model.Sentence; s != nil {
		e.pool = s
		f.setLimit(s.MaxLength)
	} else {
		f.setLimit(0)
	}
	if err := e.readConfig(); err != nil {
		return nil, err
	}
	e.dim = e.pool.Dim()
	if f.options.dim > e.dim {
		return nil, fmt.Errorf("%w: Dim(%d), the model's vectors have %d elements", ErrOption, f.options.dim, e.dim)
	} else if f.options.dim > 0 {
		e.dim, e.normalized = f.options.dim, true
	}
	return e, nil
}

// readConfig reads what sentence-transformers keeps beside the modules.
func (e *Embedder) readConfig() error {
	var sentence struct {
		Lower bool `json:"do_lower_case"`
	}
	if err := e.readJSON("sentence_bert_config.json", &sentence); err != nil {
		return err
	}
	var config struct {
		Prompts map[string]string `json:"prompts"`
		Default *string           `json:"default_prompt_name"`
	}
	if err := e.readJSON("config_sentence_transformers.json", &config); err != nil {
		return err
	}
	var modules []struct {
		Type string `json:"type"`
	}
	if err := e.readJSON("modules.json", &modules); err != nil {
		return err
	}
	if n := len(modules); n > 0 {
		e.normalized = strings.HasSuffix(modules[n-1].Type, ".Normalize")
	}
	e.lower, e.prompts = sentence.Lower, config.Prompts
	if config.Default != nil {
		if _, ok := e.prompts[*config.Default]; !ok {
			return errorf("config_sentence_transformers.json: default_prompt_name = %q is not among the prompts", *config.Default)
		}
		e.prompt = *config.Default
	}
	return nil
}

// Dim is the number of elements of a vector.
func (e *Embedder) Dim() int { return e.dim }

// Prompts are the names of the folder's prompts.
func (e *Embedder) Prompts() []string {
	names := make([]string, 0, len(e.prompts))
	for n := range e.prompts {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Tokens is the number of tokens of texts as Embed computes with.
func (e *Embedder) Tokens(texts []string) (int, error) {
	all, err := e.windows(texts, nil, tokenizer.Options{})
	n := 0
	for _, w := range all {
		n += w.tokens()
	}
	return n, err
}

// Embed is the vectors of texts, [len(texts)][Dim], with the prompt that the
// folder makes the default, if any. A text without tokens, which an empty one
// is for models that add no special tokens, gets zeros; other empty texts get
// what the model makes of its special tokens alone.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, e.prompts[e.prompt], texts)
}

// EmbedQueries is Embed for questions: with the prompt named "query", if the
// folder has it.
func (e *Embedder) EmbedQueries(ctx context.Context, queries []string) ([][]float32, error) {
	return e.embed(ctx, e.firstPrompt("query"), queries)
}

// EmbedDocuments is Embed for what is searched: with the prompt named
// "document", "passage" or "corpus", the first that the folder has.
func (e *Embedder) EmbedDocuments(ctx context.Context, documents []string) ([][]float32, error) {
	return e.embed(ctx, e.firstPrompt("document", "passage", "corpus"), documents)
}

// EmbedPrompt is Embed with the prompt of a name.
func (e *Embedder) EmbedPrompt(ctx context.Context, name string, texts []string) ([][]float32, error) {
	p, ok := e.prompts[name]
	if !ok {
		return nil, fmt.Errorf("%w: no prompt %q, the folder has %q", ErrInput, name, e.Prompts())
	}
	return e.embed(ctx, p, texts)
}

// firstPrompt is that of the first name there is, else the default.
func (e *Embedder) firstPrompt(names ...string) string {
	for _, n := range names {
		if p, ok := e.prompts[n]; ok {
			return p
		}
	}
	return e.prompts[e.prompt]
}

func (e *Embedder) embed(ctx context.Context, prompt string, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	given := make([]string, len(texts))
	for i, s := range texts {
		given[i] = prompt + s
		if e.lower {
			given[i] = strings.ToLower(given[i])
		}
	}
	all, err := e.windows(given, nil, tokenizer.Options{})
	if err != nil {
		return nil, err
	}
	skip, err := e.promptLength(prompt)
	if err != nil {
		return nil, err
	}
	windows, err := e.pooled(ctx, all, skip)
	if err != nil {
		return nil, err
	}
	return e.joined(len(texts), all, windows), nil
}

// promptLength is how many tokens at the beginning are a prompt's and do not count, for
// models trained so: those of the prompt alone, but for a special one at its end.
func (e *Embedder) promptLength(prompt string) (int, error) {
	s, ok := e.pool.(*models.SentenceEmbedder)
	if prompt == "" || !ok || s.IncludePrompt {
		return 0, nil
	}
	if e.long == splitLong {
		return 0, fmt.Errorf("%w: SplitLong with a prompt that 1_Pooling/config.json does not include", ErrOption)
	}
	alone, err := e.tokenizer.Encode(prompt, tokenizer.Options{})
	if err != nil {
		return 0, err
	}
	n := len(alone.IDs)
	if n > 0 && alone.Special[n-1] {
		n--
	}
	return n, nil
}

// pooled is the vector of each window as the model makes it without its first tokens, nil
// without tokens.
func (e *Embedder) pooled(ctx context.Context, all []window, skip int) ([][]float32, error) {
	dim := e.pool.Dim()
	place := make(map[*tokenizer.Encoding]int, len(all))
	for i, w := range all {
		place[w.encoding] = i
	}
	out := make([][]float32, len(all))
	err := e.run(ctx, all, func(ws *models.Workspace, batch []window) error {
		dst := make([]float32, len(batch)*dim) // [windows, D]
		err := error(nil)
		if skip > 0 {
			err = e.pool.(*models.SentenceEmbedder).EmbedBehind(ws, dst, tokensOf(batch), skip)
		} else {
			err = e.pool.Embed(ws, dst, tokensOf(batch))
		}
		if err != nil {
			return err
		}
		for i, w := range batch {
			out[place[w.encoding]] = dst[i*dim : (i+1)*dim : (i+1)*dim]
		}
		return nil
	})
	return out, err
}

// joined makes one vector for each text: the mean of its windows, each of which
// counts as often as it has tokens, cut and scaled as the options say.
func (e *Embedder) joined(n int, all []window, vectors [][]float32) [][]float32 {
	out, weights := make([][]float32, n), make([]float32, n)
	parts := make([]int, n)
	for _, w := range all {
		parts[w.text]++
	}
	for i, w := range all {
		v, t := vectors[i], w.text
		switch {
		case v == nil:
		case parts[t] == 1:
			out[t] = v
		default:
			if out[t] == nil {
				out[t] = make([]float32, len(v))
			}
			for j, x := range v {
				out[t][j] += x * float32(w.tokens())
			}
			weights[t] += float32(w.tokens())
		}
	}
	for t, v := range out {
		if v == nil {
			out[t] = make([]float32, e.dim)
			continue
		}
		for j := range v {
			if weights[t] > 0 {
				v[j] /= weights[t]
			}
		}
		out[t] = v[:e.dim:e.dim]
		if e.normalized && (parts[t] > 1 || e.dim < len(v)) {
			normalize(out[t])
		}
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

// meanPooler is what sentence-transformers does with a folder that has no
// modules.json.
type meanPooler struct{ encoder models.Encoder }

func (p meanPooler) Dim() int { return p.encoder.Dim() }

func (p meanPooler) Embed(ws *models.Workspace, dst []float32, in models.Tokens) error {
	defer ws.Release(ws.Mark())
	dim := p.encoder.Dim()
	x := ws.Alloc(in.Batch.Rows() * dim) // [rows, D]
	if err := p.encoder.Encode(ws, x, in); err != nil {
		return err
	}
	clear(dst)
	for i := range in.Batch.Len() {
		y := dst[i*dim : (i+1)*dim]
		for r := in.Batch.Start(i); r < in.Batch.Start(i+1); r++ {
			for j, v := range x[r*dim : (r+1)*dim] {
				y[j] += v
			}
		}
		for j := range y {
			y[j] /= float32(in.Batch.Length(i))
		}
	}
	return nil
}
