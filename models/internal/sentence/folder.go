package sentence

import (
	"io/fs"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// The files of sentence-transformers: modules.json, the configuration of each module, and
// config_sentence_transformers.json. A setting that is not supported is an error.

// Open reads the files of sentence-transformers for a model with the given parts and config.json.
func Open(fsys fs.FS, doc configuration.Document, m Parts) (*Files, error) {
	f := &Files{}
	var err error
	if _, f.Pairs, err = Made(fsys); err != nil {
		return nil, err
	}
	if f.Sentence, err = f.openSentence(fsys, doc, m); err != nil {
		return nil, err
	}
	for _, open := range []func(fs.FS, Parts) error{f.openM3, f.openSparse, f.openLate} {
		if err := open(fsys, m); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// openSentence reads modules.json, if there is one and it is for vectors.
func (f *Files) openSentence(fsys fs.FS, doc configuration.Document, m Parts) (*Embedder, error) {
	modules, err := modulesFor(fsys, "SentenceTransformer")
	if m.Static && err == nil && modules == nil {
		return bareStatic(m.Encoder, doc)
	}
	if err != nil || modules == nil || len(modules) == 1 && m.Classifies { // the last is a cross-encoder
		return nil, err
	}
	s, err := newEmbedder(doc, m)
	if err != nil {
		return nil, err
	}
	if m.ModelType == jina5 && len(modules) == 1 && modules[0].Type == jina5Module {
		if s, err = Pooled(s.encoder, "lasttoken", true); err != nil {
			return nil, err
		}
		err = s.readSentence(fsys)
		f.Warnings = append(f.Warnings, s.warnings...)
		return s, err
	}
	for i, module := range modules {
		if err := s.add(fsys, i, module); err != nil {
			return nil, err
		}
	}
	if len(s.pools) == 0 {
		return nil, modulesError(fault.ErrConfig, "no pooling")
	}
	s.dim = s.out
	if modules[0].kind() != "StaticEmbedding" { // which reads only the tokenizer and the vectors
		if err := s.readTransformer(fsys, m.ModelType, extraction); err != nil {
			return nil, err
		}
	}
	if err := s.readSentence(fsys); err != nil {
		return nil, err
	}
	f.Warnings = append(f.Warnings, s.warnings...)
	return s, nil
}

// newEmbedder returns the embedder of a model that has no modules yet.
func newEmbedder(doc configuration.Document, m Parts) (*Embedder, error) {
	s := &Embedder{encoder: m.Encoder, static: m.Static, allLayers: doc.Truth("output_hidden_states", false)}
	if m.Causal != nil {
		switch {
		case m.Encoder == nil:
			s.encoder = m.Causal
		case m.ModelType == "bart" || m.ModelType == "mbart":
			return nil, modulesError(fault.ErrFolder, "model_type %q is not supported: its decoder would compute the vectors", m.ModelType)
		}
	}
	if s.encoder == nil {
		return nil, modulesError(fault.ErrFolder, "model_type %q is not an encoder", m.ModelType)
	}
	return s, nil
}

// add reads a module, whose number is i.
func (s *Embedder) add(fsys fs.FS, i int, m module) error {
	kind, pooled := m.kind(), len(s.pools) > 0
	switch {
	case i == 0 && kind == "StaticEmbedding":
		if !s.static {
			return moduleError(i, "type", m.Type, "want a Transformer: config.json has another model_type than model2vec")
		}
		s.takeMeans()
		return nil
	case i == 0 && kind == "Transformer":
		if m.Path != "" {
			return moduleError(i, "path", m.Path, "want the folder itself")
		}
		return nil
	case i > 0 && kind == "Pooling":
		return s.addPooling(fsys, m.Path)
	case i > 0 && kind == "Normalize":
		return s.addNormalize(fsys, m.Path)
	case pooled && kind == "Dense":
		return s.addDense(fsys, m.Path)
	case i > 0 && kind == "WeightedLayerPooling":
		return s.addLayerWeights(fsys, m.Path)
	case pooled && kind == "LayerNorm":
		return s.addLayerNorm(fsys, m.Path)
	case pooled && kind == "Dropout":
		return s.addDropout(fsys, m.Path)
	}
	return moduleError(i, "type", m.Type, "not supported there")
}
