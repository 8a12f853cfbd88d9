package models

import (
	"errors"
	"io/fs"
	"path"
)

// Folders of static embeddings, by sentence-transformers or without its files.

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

// takeMeans makes s the embedder of a folder of static embeddings without modules.json.
func (s *SentenceEmbedder) takeMeans() {
	s.pools, s.out, s.NoSpecial, s.IncludePrompt = []pooling{poolMean}, s.encoder.Dim(), true, true
}

// bareStatic is the SentenceEmbedder of model2vec's own files, of which config.json says whether vectors are normalized.
func bareStatic(encoder sentenceEncoder, doc Document) (*SentenceEmbedder, error) {
	s := &SentenceEmbedder{encoder: encoder}
	s.takeMeans()
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
