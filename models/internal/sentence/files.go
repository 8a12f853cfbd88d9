package sentence

import (
	"github.com/avoformer/avoformer/search/sparse"
	"github.com/avoformer/avoformer/transformer"
)

// The parts of a model on which its files build, and the values that they make.

// Parts are the parts of a model that the files of sentence-transformers build on.
type Parts struct {
	ModelType  string
	Encoder    Encoder // nil: none
	Static     bool    // whether Encoder has no layers
	Causal     Encoder // the decoder, as an encoder whose tokens see those in front of them; nil: none
	Classifies bool    // whether there is a classifier
	Vocab      int     // of the language model without an encoder; 0: none
	MaskedLM   Head    // to the logits of the vocabulary at each token; nil: none
}

// Embedders make vectors of texts, as the files of a folder say. A folder that has only Sparse or
// Tokens has a Sentence of which Dim is 0: prompts and lengths.
type Embedders struct {
	Sentence *Embedder      // a vector of each text; nil: the folder does not say how
	Sparse   SparseHead     // a sparse vector of each text; nil: none
	Tokens   *TokenEmbedder // a vector of each token; nil: none
	Pairs    bool           // whether the folder's modules make scores of pairs, not vectors of texts
}

// Files has the files of a folder that are not the model's.
type Files struct {
	Embedders
	Warnings []string
}

// Sparse vectors, of which package sparse has an index.
type (
	TokenWeight  = sparse.Weight
	SparseVector = sparse.Vector // an element for each token of the vocabulary
)

// A SparseHead makes a sparse vector of each text's hidden states.
type SparseHead interface {
	// Weigh hands result the vector of each sequence i of in, whose hidden states are x, [rows,
	// width].
	Weigh(ws *transformer.Workspace, x []float32, in transformer.Tokens, result func(i int, v SparseVector)) error
}

// A TokenEmbedder makes a vector of each token's hidden state.
type TokenEmbedder struct {
	// QueryMark and DocumentMark go before texts: as one token, after the tokenizer's first, where
	// the vocabulary has them.
	QueryMark, DocumentMark string
	// Expansion says how queries are lengthened; nil: they are not.
	Expansion *Expansion
	// Skip are the tokens of documents, and of queries if SkipInQueries, that get no vector.
	Skip          []string
	SkipInQueries bool
	// SkipUnseen says that tokens of an expansion that the other tokens do not see get no vector.
	SkipUnseen bool
	// SkipFirst says that the first token of each text, a special one, gets no vector.
	SkipFirst bool
	// MeanScore says whether scores are divided by the number of the query's vectors.
	MeanScore bool

	rows     []layer
	dim      int
	warnings []string
}

// Expansion says which tokens follow those of a query. They have vectors too.
type Expansion struct {
	Length int    // of a query with them, from which on it is cut if it is Fixed
	Fixed  bool   // longer queries are cut
	Attend bool   // the query's own tokens see them
	Token  string // "": that for masked words or, without one, that for the end of texts
}
