package models

import (
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/sentence"
)

// What the files of sentence-transformers make of a model; package sentence reads them.

// TextEncoder returns what makes hidden states of texts: m.Encoder, or a language model without
// one, whose tokens see those in front of them; nil: neither.
func (m *Model) TextEncoder() Encoder {
	if m.Serves(UseText) {
		return block.CausalEncoder{Model: m.LM}
	}
	return m.Encoder
}

// BareEmbedder returns the embedder that sentence-transformers makes of a folder without
// modules.json, which needs a TextEncoder: a text's vector is the mean of its hidden states, or the
// last of them where the checkpoint is named after a language model.
func (m *Model) BareEmbedder() *sentence.Embedder {
	mode := "mean"
	if m.Config.Head() == "ForCausalLM" {
		mode = "lasttoken"
	}
	s, _ := m.PooledEmbedder(mode)
	return s
}

// PooledEmbedder is BareEmbedder with a mode of sentence-transformers' Pooling: cls, lasttoken,
// max, mean, mean_sqrt_len_tokens or weightedmean; fault.ErrOption for another one. Vectors of a
// GGUF file have length 1, as llama.cpp gives them with --pooling.
func (m *Model) PooledEmbedder(mode string) (*sentence.Embedder, error) {
	return sentence.Pooled(m.TextEncoder(), mode, m.fromGGUF)
}

// Splade makes sparse vectors by the head of masked words as SPLADE does, an error of Weigh without
// one; it is for folders that do not say how theirs are made.
func (m *Model) Splade() sentence.SparseHead { return sentence.Splade(m.Heads[HeadMaskedLM]) }

// OpenCrossEncoder reads the files of sentence-transformers beside m; nil if the folder was not
// saved by its CrossEncoder, or not with modules.json: sentence-transformers then asks for none of
// them. Warnings are as in a Model.
func OpenCrossEncoder(fsys fs.FS, m *Model) (c *sentence.CrossEncoder, warnings []string, err error) {
	doc, err := configuration.ReadJSON(fsys, "config.json")
	if errors.Is(err, fs.ErrNotExist) { // a GGUF file
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	return sentence.OpenCrossEncoder(fsys, doc, m.sentenceParts())
}

// ModulesUse returns the use of a folder's model by its modules.json: [UseStates] if the modules
// make vectors of texts, [UseScore] if they make scores of pairs, and "" where there are none, or
// only a model.
func ModulesUse(fsys fs.FS) (Use, error) {
	vectors, scores, err := sentence.Made(fsys)
	switch {
	case err != nil:
		return "", err
	case scores:
		return UseScore, nil
	case vectors:
		return UseStates, nil
	}
	return "", nil
}

// sentenceParts returns the parts of m that the files of sentence-transformers build on.
func (m *Model) sentenceParts() sentence.Parts {
	p := sentence.Parts{ModelType: m.Config.ModelType, Encoder: m.Encoder, Classifies: m.Heads[HeadClassifier] != nil, MaskedLM: m.Heads[HeadMaskedLM]}
	_, p.Static = m.Encoder.(*staticEncoder)
	if m.LM != nil {
		p.Causal = block.CausalEncoder{Model: m.LM}
	}
	if m.Serves(UseText) {
		p.Vocab = m.LM.Vocab()
	}
	return p
}

// TokenizerFields are fields that sentence-transformers hands to the tokenizer of a folder, in
// place of those of tokenizer_config.json; none if modules.json is missing or for another class
// than those, such as "CrossEncoder".
func TokenizerFields(fsys fs.FS, classes ...string) (map[string]json.RawMessage, error) {
	return sentence.TokenizerFields(fsys, classes)
}

// TokenizerFolder returns the folder in fsys that has the tokenizer: ".", or that of a module
// StaticEmbedding.
func TokenizerFolder(fsys fs.FS) (string, error) { return sentence.TokenizerFolder(fsys) }
