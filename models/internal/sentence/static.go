package sentence

import (
	"errors"
	"io/fs"
	"path"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// Folders of static embeddings, by sentence-transformers or without its files.

// TokenizerFolder returns the folder in fsys that has the tokenizer: ".", or that of a module
// StaticEmbedding.
func TokenizerFolder(fsys fs.FS) (string, error) {
	dir, err := staticFolder(fsys)
	return path.Clean(dir), err
}

// staticFolder returns the folder of the module StaticEmbedding with which modules.json begins, ""
// if it does not.
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

// Config returns config.json, or what takes its place if a module StaticEmbedding does not need
// one, and the folder of the weights, "" for that of the model.
func Config(fsys fs.FS) (doc configuration.Document, weights string, err error) {
	doc, err = configuration.ReadJSON(fsys, "config.json")
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return doc, "", err
	}
	if !missing && !doc.Has("model_type") && !doc.Has("architectures") && doc.Has("normalize") { // as save_pretrained of model2vec writes it
		doc = doc.With("model_type", `"model2vec"`)
	}
	weights, failed := staticFolder(fsys)
	switch {
	case failed != nil:
		return doc, "", failed
	case missing && weights != "":
		doc, err = configuration.Parse("modules.json", []byte(`{"model_type": "model2vec"}`))
	}
	return doc, weights, err
}

// takeMeans makes s the embedder of a folder of static embeddings without modules.json.
func (s *Embedder) takeMeans() {
	s.pools, s.out, s.NoSpecial, s.IncludePrompt = []block.Pooling{block.PoolMean}, s.encoder.Dim(), true, true
}

// bareStatic returns the SentenceEmbedder of model2vec's own files, whose config.json says whether
// vectors are normalized, and the most tokens of a text: 512 by default, and as many as there are
// with null.
func bareStatic(encoder Encoder, doc configuration.Document) (*Embedder, error) {
	s := &Embedder{encoder: encoder}
	s.takeMeans()
	s.dim, s.NoUnknown = s.out, true
	raw := struct {
		Normalize bool `json:"normalize"`
		MaxLength int  `json:"max_length"`
	}{MaxLength: 512}
	if err := doc.Decode(&raw); err != nil {
		return nil, err
	}
	if !doc.IsNull("max_length") {
		s.MaxLength = raw.MaxLength
	}
	if raw.Normalize {
		s.rest = []layer{{}}
	}
	return s, nil
}
