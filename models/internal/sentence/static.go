package sentence

import (
	"errors"
	"io/fs"
	"path"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// Folders of static embeddings, by sentence-transformers or without its files.

// TokenizerFolder returns the folder in fsys that has the tokenizer: ".", or that of a module StaticEmbedding.
func TokenizerFolder(fsys fs.FS) (string, error) {
	dir, err := StaticFolder(fsys)
	return path.Clean(dir), err
}

// StaticFolder returns the folder of the module StaticEmbedding with which modules.json begins, "" if it does not.
func StaticFolder(fsys fs.FS) (string, error) {
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

// StaticConfig returns config.json, or its replacement if a module StaticEmbedding does not need one.
func StaticConfig(fsys fs.FS) (configuration.Document, error) {
	doc, err := configuration.ReadJSON(fsys, "config.json")
	if !errors.Is(err, fs.ErrNotExist) {
		return doc, err
	}
	if dir, failed := StaticFolder(fsys); failed != nil {
		return doc, failed
	} else if dir == "" {
		return doc, err
	}
	return configuration.Parse("modules.json", []byte(`{"model_type": "model2vec"}`))
}

// takeMeans makes s the embedder of a folder of static embeddings without modules.json.
func (s *Embedder) takeMeans() {
	s.pools, s.out, s.NoSpecial, s.IncludePrompt = []block.Pooling{block.PoolMean}, s.encoder.Dim(), true, true
}

// bareStatic returns the SentenceEmbedder of model2vec's own files, whose config.json says whether vectors are normalized.
func bareStatic(encoder Encoder, doc configuration.Document) (*Embedder, error) {
	s := &Embedder{encoder: encoder}
	s.takeMeans()
	s.dim = s.out
	raw := struct {
		Normalize bool `json:"normalize"`
	}{}
	if err := doc.Decode(&raw); err != nil {
		return nil, err
	}
	if raw.Normalize {
		s.rest = []layer{{}}
	}
	return s, nil
}
