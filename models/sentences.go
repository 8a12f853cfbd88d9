package models

import (
	"encoding/json"
	"io/fs"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/sentence"
)

// What the files of sentence-transformers make of a model; package sentence reads them.

// BareEmbedder is what sentence-transformers makes of a folder without modules.json, which needs
// m.Encoder: a text's vector is the mean of its hidden states, or the last of them where the
// checkpoint is named after a language model.
func (m *Model) BareEmbedder() *sentence.Embedder {
	mode := "mean"
	if m.Config.Head() == "ForCausalLM" {
		mode = "lasttoken"
	}
	s, _ := m.PooledEmbedder(mode)
	return s
}

// PooledEmbedder is BareEmbedder with a mode of sentence-transformers' Pooling: cls, lasttoken, max, mean,
// mean_sqrt_len_tokens or weightedmean; fault.ErrOption for another one.
func (m *Model) PooledEmbedder(mode string) (*sentence.Embedder, error) {
	return sentence.Pooled(m.Encoder, mode)
}

// Splade makes sparse vectors by the head of masked words as SPLADE does, an error of Weigh without one; it is for folders
// that do not say how theirs are made.
func (m *Model) Splade() sentence.SparseHead { return sentence.Splade(m.Heads[HeadMaskedLM]) }

// Types of package sentence that a Model has.
type (
	Embedders        = sentence.Embedders
	SentenceEmbedder = sentence.Embedder
	TokenEmbedder    = sentence.TokenEmbedder
	Expansion        = sentence.Expansion
	CrossEncoder     = sentence.CrossEncoder
	SparseHead       = sentence.SparseHead
	SparseVector     = sentence.SparseVector
	TokenWeight      = sentence.TokenWeight
)

// OpenCrossEncoder reads the files of sentence-transformers beside m; nil if the folder was not saved by its CrossEncoder,
// or not with modules.json: sentence-transformers then asks for none of them.
func OpenCrossEncoder(fsys fs.FS, m *Model) (*sentence.CrossEncoder, error) {
	return sentence.OpenCrossEncoder(fsys, m.Encoder, m.Config.ModelType)
}

// sentenceParts are the parts of m that the files of sentence-transformers build on.
func (m *Model) sentenceParts() sentence.Parts {
	p := sentence.Parts{ModelType: m.Config.ModelType, Encoder: m.Encoder, Classifies: m.Heads[HeadClassifier] != nil, MaskedLM: m.Heads[HeadMaskedLM]}
	_, p.Static = m.Encoder.(*staticEncoder)
	if d, ok := m.LM.(*block.Decoder); ok {
		p.Causal = block.CausalEncoder{Decoder: d}
	}
	return p
}

// TokenizerFields are fields that a class of sentence-transformers, "SentenceTransformer" or
// "CrossEncoder", hands to the tokenizer of a folder, in the place of those of
// tokenizer_config.json; none if modules.json is missing or for another class.
func TokenizerFields(fsys fs.FS, class string) (map[string]json.RawMessage, error) {
	return sentence.TokenizerFields(fsys, class)
}

// TokenizerFolder is the folder in fsys that has the tokenizer: ".", or that of a module StaticEmbedding.
func TokenizerFolder(fsys fs.FS) (string, error) { return sentence.TokenizerFolder(fsys) }
