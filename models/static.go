package models

import (
	"errors"
	"io/fs"
	"path"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer"
)

// Static embeddings: Tulkens and van Dongen, 2024, "Model2Vec: Fast State-of-the-Art Static
// Embeddings", and StaticEmbedding of sentence-transformers, which computes the same. Each token has a
// vector, and that of a text is their mean: there are no layers.

func init() { Register(newStatic, "model2vec") }

// staticFields say how the vectors were made, and change nothing about them.
var staticFields = []string{
	"tokenizer_name", "apply_pca", "apply_zipf", "sif_coefficient", "hidden_dim", "seq_length", "max_length", "embedding_dtype",
	"vocabulary_quantization", "pooling", "cache_dir", "normalize",
}

// staticEncoder gives each token its vector. Tokens may share vectors, and weigh differently.
type staticEncoder struct {
	vectors *transformer.Embedding
	rows    []int     // of tokens in vectors; nil: their own numbers
	weights []float32 // of tokens; nil: 1
}

func newStatic(c *Checkpoint) (*Model, error) {
	l, name := c.Loader.Integers(), "embeddings"
	for _, field := range staticFields {
		c.JSON.note(field)
	}
	if l.Has("embedding.weight") { // sentence-transformers' own
		name = "embedding.weight"
	} else {
		l.Rename(func(n string) string {
			if n == "embeddings.weight" {
				return "embeddings"
			}
			return n
		})
	}
	e := &staticEncoder{vectors: &transformer.Embedding{}}
	shape, ok := l.Shape(name)
	if err := staticShape(name, shape, ok); l.Fail(err) {
		return &Model{Encoder: e}, nil
	}
	tokens := shape[0]
	if mapping, ok := l.Shape("mapping"); ok && len(mapping) == 1 {
		tokens = mapping[0]
		for _, v := range l.Tensor("mapping", tokens) {
			if !(v >= 0 && v < float32(shape[0])) {
				l.Fail(check.Errorf(transformer.ErrShape, "mapping to row %v, %s has %d", v, name, shape[0]))
				break
			}
			e.rows = append(e.rows, int(v))
		}
	}
	e.weights = l.Optional(l.Has("weights"), "weights", tokens)
	if name == "embeddings" {
		e.vectors = l.At("embeddings.").Embedding(shape[0], shape[1])
	} else {
		e.vectors = l.At("embedding.").Embedding(shape[0], shape[1])
	}
	c.Config.Vocab, c.Config.Dim = tokens, shape[1]
	return &Model{Encoder: e}, nil
}

// staticShape is the error of vectors that are not there, or of another shape than a matrix.
func staticShape(name string, shape []int, ok bool) error {
	switch {
	case !ok:
		return check.Errorf(transformer.ErrMissing, "%s", name)
	case len(shape) != 2 || shape[0] < 1 || shape[1] < 1:
		return check.Errorf(transformer.ErrMisshapen, "%s has shape %v, want a matrix", name, shape)
	}
	return nil
}

// Dim implements Encoder.
func (e *staticEncoder) Dim() int { return e.vectors.Dim }

// Encode implements Encoder.
func (e *staticEncoder) Encode(ws *Workspace, dst []float32, in Tokens) error {
	dim, ids := e.vectors.Dim, in.IDs
	if e.rows != nil {
		ids = make([]int, len(in.IDs))
		for i, t := range in.IDs {
			if t < 0 || t >= len(e.rows) {
				return check.Errorf(transformer.ErrToken, "token %d at row %d, the vocabulary has %d", t, i, len(e.rows))
			}
			ids[i] = e.rows[t]
		}
	}
	if err := e.vectors.Forward(ws, dst, ids); err != nil { // [rows, D]
		return err
	}
	if e.weights == nil {
		return nil
	}
	for i, t := range in.IDs {
		row := dst[i*dim : (i+1)*dim]
		for j := range row {
			row[j] *= e.weights[t]
		}
	}
	return nil
}

// bothWays is that of textEncoder.
func (e *staticEncoder) bothWays() bool { return true }

// TokenizerFolder is the folder in fsys that has the tokenizer: ".", or that of a module StaticEmbedding.
func TokenizerFolder(fsys fs.FS) (string, error) {
	dir, err := staticFolder(fsys)
	return path.Clean(dir), err
}

// staticFolder is the folder of the module StaticEmbedding with which modules.json begins, "" if it does not.
func staticFolder(fsys fs.FS) (string, error) {
	modules, err := readModules(fsys)
	if err != nil || len(modules) == 0 || modules[0].kind() != "StaticEmbedding" {
		return "", err
	}
	dir := path.Clean(modules[0].Path)
	if !fs.ValidPath(dir) {
		return "", moduleError(0, "path", modules[0].Path, "want a folder within that of the model")
	}
	return dir, nil
}

// staticConfig is config.json, or what stands for it where a module StaticEmbedding needs none.
func staticConfig(fsys fs.FS) (Document, error) {
	doc, err := readJSON(fsys, "config.json")
	if !errors.Is(err, fs.ErrNotExist) {
		return doc, err
	}
	if dir, failed := staticFolder(fsys); failed != nil {
		return doc, failed
	} else if dir == "" {
		return doc, err
	}
	return parse("modules.json", []byte(`{"model_type": "model2vec"}`))
}

// static is the SentenceEmbedder of a folder of static embeddings without modules.json.
func (s *SentenceEmbedder) static() {
	s.pools, s.out, s.NoSpecial, s.IncludePrompt = []pooling{poolMean}, s.encoder.Dim(), true, true
}

// bareStatic is the SentenceEmbedder of model2vec's own files, of which config.json says whether vectors are normalized.
func bareStatic(m *Model, doc Document) (*SentenceEmbedder, error) {
	s := &SentenceEmbedder{encoder: m.Encoder}
	s.static()
	s.dim = s.out
	raw := struct {
		Normalize bool `json:"normalize"`
	}{}
	if err := doc.Decode(&raw); err != nil {
		return nil, err
	}
	if raw.Normalize {
		s.rest = []sentenceModule{{}}
	}
	return s, nil
}
