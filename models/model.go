package models

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/sentence"
	"github.com/avoformer/avoformer/transformer"
)

// What a model can do: the interfaces between architectures and their callers.

// The types of package transformer that signatures here are made of.
type (
	Workspace = transformer.Workspace
	Batch     = transformer.Batch
	Cache     = transformer.Cache
	Pages     = transformer.Pages
	History   = transformer.History
	Tokens    = transformer.Tokens
	Memory    = transformer.Memory
	Soft      = transformer.Soft
)

// A Model is what a folder holds. Its parts are nil where the architecture, or the checkpoint,
// lacks them.
type Model struct {
	Config Config
	// Warnings are about fields of config.json that neither the architecture nor transformers
	// knows, and keys of a GGUF file that are not read, one each: remarks, most of them, but also
	// what a newer release may act on. One says how many bytes of a GGUF file become how many of
	// float32, if types of weights have no products of their own: Q2_K.
	Warnings []string
	// Ready describes the file that has the packed weights, as [Options].Ready asks for; nil: there
	// is none.
	Ready *Ready
	// Adapters are the names of the adapters that are kept separate from the weights of LM: number
	// 1 of a [History] is the first.
	Adapters []string
	// Holdings are the weights of linear layers and tables that the model was opened with, and the
	// format of each.
	Holdings []transformer.Holding
	// Footprint is the memory that the model takes.
	Footprint Footprint

	// What makes hidden states: of tokens, of sound, of images.
	Encoder Encoder
	Audio   AudioEncoder
	Image   ImageEncoder
	// Heads make something else of them.
	Heads Heads
	// Transducer writes tokens of the hidden states of Audio.
	Transducer Transducer

	// LM generates text: a decoder without an encoder, or after Encoder or Audio, to whose output
	// it then attends.
	LM LanguageModel
	// Images makes soft tokens of LM, which is a [SoftReader], from images. It is nil unless
	// [Options].Images asks for it.
	Images *ImageReader
	// Joint compares texts and images by vectors of one space.
	Joint Joint
	// Embedders make vectors of texts as the files of sentence-transformers say.
	Embedders Embedders

	fromGGUF bool
}

// A HeadKind says what a head makes of hidden states.
type HeadKind int

// The kinds of heads, by what they make.
const (
	HeadPooler          HeadKind = iota // the pooler_output of each sequence
	HeadClassifier                      // logits of the labels of each sequence
	HeadTokenClassifier                 // logits of the labels of each token
	HeadMaskedLM                        // logits of the vocabulary at each token
	HeadNextSentence                    // two logits for each sequence: its second text follows the first, or not
	HeadAnswer                          // two logits for each token: an answer starts, or ends, there
	HeadCTC                             // logits of the vocabulary at each hidden state of Audio; one token is blank: the padding
	HeadImageClassifier                 // logits of the labels of each image
	HeadImagePooler                     // a vector of each image
	HeadRanking                         // a vector at each token; a reranker compares those at two special tokens

	headKinds = iota
)

// Heads has the head of each kind, nil where the architecture, or the checkpoint, has none.
type Heads [headKinds]Head

// An Encoder turns tokens into hidden states.
type Encoder interface {
	Dim() int // width of the hidden states
	// Encode sets dst, [rows, Dim], to the hidden states after the last layer.
	Encode(ws *Workspace, dst []float32, in Tokens) error
}

// A Head turns hidden states into something else: logits, a pooled vector. Whether there is one
// result for a sequence or for each of its rows depends on what it is.
type Head interface {
	Out() int // width of a result
	// Forward sets dst, [results, Out], for x, [rows, width], the hidden states of in, of which
	// some heads ask for the tokens. Those of images have none.
	Forward(ws *Workspace, dst, x []float32, in Tokens) error
}

// A LanguageModel predicts the token after each token.
type LanguageModel interface {
	Vocab() int
	Dim() int // width of the hidden states
	// NewPages returns a pool of pages for histories of the model. Layers with windows keep no more
	// pages than they need. The pages in use take at most limit bytes; 0: no limit.
	NewPages(limit int64) *Pages
	// Hidden sets dst, [rows, Dim], to the hidden states of the tokens of batch after the last
	// layer and its normalization. The tokens follow those that cache holds; it may be nil. memory
	// is what a decoder after an encoder attends to, else nil.
	Hidden(ws *Workspace, dst []float32, tokens []int, batch Batch, memory *Memory, cache *Cache) error
	// Logits sets dst, [rows, Vocab], to the logits for rows x of what Hidden gives.
	Logits(ws *Workspace, dst, x []float32) error
}

// A SoftReader is a language model that takes soft tokens.
type SoftReader interface {
	LanguageModel
	// HiddenSoft is Hidden for tokens among which are placeholders: from row At of the batch on,
	// the vectors of each Soft enter in place of those of the tokens. Soft tokens outside the batch
	// or of another width are an error that matches fault.ErrShape.
	HiddenSoft(ws *Workspace, dst []float32, tokens []int, batch Batch, soft []Soft, cache *Cache) error
}

// An ImageReader turns images into soft tokens.
type ImageReader struct {
	ImageEncoder     // whose hidden states are the soft tokens
	Token        int // the placeholder of each soft token
	Begin, End   int // tokens around those of an image; -1: what is around them is text, which the image processor writes
	// Processor is the text of processor_config.json, if a file of the model says how images become
	// pixels; nil: files of the folder do.
	Processor []byte
	// Videos are the tokens that stand for videos, which are not read: they are an error in a
	// prompt.
	Videos []int
	// Side is the pixels on the side of the square that a soft token stands for, where positions
	// have an axis for its row and one for its column in the image; 0: positions are those of
	// tokens.
	Side int
	// Processors are the image processors whose pixels it takes, by the names of transformers'
	// classes without ImageProcessor.
	Processors []string
}

// An AudioEncoder turns features of sound into hidden states.
type AudioEncoder interface {
	Dim() int
	// Features is the number of features of a frame: mel bands; 1 where frames are samples.
	Features() int
	// Rows is the number of hidden states for a number of frames.
	Rows(frames int) int
	// EncodeAudio sets dst, [sounds, Rows(frames), Dim], for features, [sounds, Features, frames].
	EncodeAudio(ws *Workspace, dst, features []float32, sounds, frames int) error
}

// A Transducer writes tokens of hidden states of sound. Each token says how many hidden states it
// spans.
type Transducer interface {
	// Begin returns the state before sound that has a number of hidden states, which limits the
	// number of tokens.
	Begin(rows int) *Transduction
	// Hear returns the tokens, without blanks, of the hidden states x, [rows, width of Audio], that
	// follow those which s has heard. Errors match fault.ErrShape for sizes that do not fit, and
	// fault.ErrNotFinite for logits that are not numbers.
	Hear(ws *Workspace, s *Transduction, x []float32) ([]Emission, error)
}

// Types of a Transducer.
type (
	Transduction = block.Transduction
	Emission     = block.Emission
)

// An ImageEncoder turns images into hidden states.
type ImageEncoder interface {
	Dim() int
	Channels() int
	Size() (height, width int) // of the images it was trained on
	// Rows is the number of hidden states for an image of a size, or an error if it takes no image
	// of that size.
	Rows(height, width int) (int, error)
	// EncodeImages sets dst, [images, Rows, Dim], for pixels, [images, Channels, height, width].
	EncodeImages(ws *Workspace, dst, pixels []float32, images, height, width int) error
}

// noLM returns the error of asking a model without one for what a language model does.
func (m *Model) noLM() error {
	return check.Errorf(fault.ErrConfig, "%s is not a language model", m.Config.ModelType)
}

// Logits sets dst, [rows, vocabulary], to the logits of the token after each token of a batch, with
// m.LM. The tokens follow those that cache holds, which may be nil, as memory may be.
func (m *Model) Logits(ws *Workspace, dst []float32, tokens []int, batch Batch, memory *Memory, cache *Cache) error {
	if m.LM == nil {
		return m.noLM()
	}
	if ws == nil {
		return check.Errorf(fault.ErrConfig, "workspace is nil; pass new(Workspace)")
	}
	if len(dst) != batch.Rows()*m.LM.Vocab() {
		return check.Errorf(fault.ErrShape, "logits have %d elements, want %d*%d (rows*vocabulary)", len(dst), batch.Rows(), m.LM.Vocab())
	}
	defer ws.Release(ws.Mark())
	x := ws.Alloc(batch.Rows() * m.LM.Dim())                                 // [rows, D]
	if err := m.LM.Hidden(ws, x, tokens, batch, memory, cache); err != nil { // [rows, D]
		return err
	}
	return m.LM.Logits(ws, dst, x) // [rows, V]
}

// A Joint makes vectors of texts and images, of length 1 in one space.
type Joint interface {
	Dim() int // width of the vectors
	// EmbedTexts sets dst, [sequences, Dim], to the vectors of texts, which end with the token that
	// their tokenizer puts there.
	EmbedTexts(ws *Workspace, dst []float32, in Tokens) error
	// EmbedImages sets dst, [images, Dim], to the vectors of pixels, [images, channels, height,
	// width].
	EmbedImages(ws *Workspace, dst, pixels []float32, images, height, width int) error
	// Compare sets dst, [images, texts], to the logits of each image and text belonging together:
	// the products of their vectors, [images, Dim] and [texts, Dim], scaled.
	Compare(ws *Workspace, dst, images, texts []float32) error
}

// Ready says where the packed weights of a model are kept, and whether they were there: see
// [Options], and [transformer.Ready] for its fields.
type Ready = transformer.Ready

// Footprint is the memory of a model in bytes: of its weights, and of the keys and values of texts
// that it generates. What else a program takes is not in it: the tokenizer, and workspaces, which
// depend on how many tokens are computed at a time. Nor are the dense layers that modules.json and
// the files of BGE-M3 add.
type Footprint struct {
	Weights int64 `json:"weights"` // as they are held
	Loading int64 `json:"loading"` // the most while they are read and packed
	// State is the states of recurrent layers, which each text has once, and twice while a pass
	// computes the next.
	State int64 `json:"state,omitempty"`
	// Token is the keys and values of one token in the format of Options.Cache, and Context with
	// State those of a text of Config.MaxLength tokens, which is less than as many times Token
	// where layers have windows. They are 0 of models that generate nothing, and Context is 0 where
	// texts have no limit.
	Token   int64 `json:"token,omitempty"`
	Context int64 `json:"context,omitempty"`
	// MemoryRow is the keys and values of a hidden state of the encoder that the decoder attends
	// to, if there is one.
	MemoryRow int64 `json:"memory_row,omitempty"`
	// Working is about the most that computing takes in addition: the activations of the batches or
	// steps that are computed at the same time, and images while they are decoded. It depends on
	// the threads of a pipeline; without one it is 0.
	Working int64 `json:"working,omitempty"`
}

// The types of package sentence that a Model has. Their documentation is here, since go doc prints
// no method of an alias.
type (
	// Embedders make vectors of texts, as the files of a folder say. If a folder has only Sparse or
	// Tokens, its Sentence has a Dim of 0.
	Embedders = sentence.Embedders
	// A SentenceEmbedder makes one vector of a text: Embed and EmbedAfter from tokens, Pool from
	// hidden states, and Empty without tokens. Dim is the width of a vector. Normalized and
	// PoolsMean report how the vectors are made, and Raw returns the embedder without the last
	// normalization.
	SentenceEmbedder = sentence.Embedder
	// A TokenEmbedder makes a vector of each token's hidden state: Project sets the vectors, whose
	// width is Dim.
	TokenEmbedder = sentence.TokenEmbedder
	// Expansion says which tokens follow those of a query, and have vectors too.
	Expansion = sentence.Expansion
	// A CrossEncoder has what the files of sentence-transformers say about a folder that its class
	// CrossEncoder saved.
	CrossEncoder = sentence.CrossEncoder
	// A LogitScore is the logit of one token after a pair minus the logit of another.
	LogitScore = sentence.LogitScore
	// A SparseHead makes a sparse vector of each text's hidden states.
	SparseHead = sentence.SparseHead
	// A SparseVector has the elements of a vector that are not 0.
	SparseVector = sentence.SparseVector
	// A TokenWeight is an element of a SparseVector: a token and its weight.
	TokenWeight = sentence.TokenWeight
)
