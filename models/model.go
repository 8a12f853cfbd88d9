package models

import (
	"github.com/avoformer/avoformer/transformer"
)

// What a model can do: the interfaces between architectures and those who use them.

// The types of package transformer that signatures here are made of.
type (
	Workspace = transformer.Workspace
	Batch     = transformer.Batch
	Cache     = transformer.Cache
)

// A Model is what a folder holds. Its parts are nil where the architecture, or the
// checkpoint, lacks them.
type Model struct {
	Config Config

	Encoder         Encoder // from tokens to hidden states
	Pooler          Head    // to the pooler_output of each sequence
	Classifier      Head    // to the logits of each sequence's labels
	TokenClassifier Head    // to the logits of each token's labels
	MaskedLM        Head    // to the logits of the vocabulary at each token
	NextSentence    Head    // to the logits of each sequence's second text following its first, and not
	Answer          Head    // to the logits of an answer starting and ending at each token

	// LM generates text: a decoder on its own, or behind Encoder or Audio, to whose
	// output it then attends.
	LM    LanguageModel
	Audio AudioEncoder

	// Image encodes images. ImageClassifier takes what it gives, as ImagePooler does.
	Image           ImageEncoder
	ImageClassifier Head
	ImagePooler     Head

	// Joint compares texts and images by vectors of one space.
	Joint *Joint

	// Sentence is the embedding of sentences that modules.json describes.
	Sentence *SentenceEmbedder
}

// Tokens is a batch of sequences of tokens, without padding.
type Tokens struct {
	IDs   []int // of the rows of Batch
	Types []int // token_type_ids; nil: all 0. Models without types do not read them.
	Batch Batch
}

// An Encoder turns tokens into hidden states.
type Encoder interface {
	Dim() int // width of the hidden states
	// Encode sets dst, [rows, Dim], to the hidden states behind the last layer.
	Encode(ws *Workspace, dst []float32, in Tokens) error
}

// A Head turns hidden states into something else: logits, a pooled vector. Whether
// there is one result for a sequence or for each of its rows depends on what it is.
type Head interface {
	Out() int // width of a result
	// Forward sets dst, [results, Out], for x, the hidden states of batch.
	Forward(ws *Workspace, dst, x []float32, batch Batch) error
}

// A LanguageModel predicts the token behind each token.
type LanguageModel interface {
	Vocab() int
	Dim() int // width of the hidden states
	// NewCache is an empty cache for a number of sequences, of which layers with
	// windows keep no more than they need.
	NewCache(sequences int) *Cache
	// Hidden sets dst, [rows, Dim], to the hidden states of the tokens of batch
	// behind the last layer and its normalization. The tokens follow those that
	// cache holds; it may be nil. memory is what a decoder behind an encoder
	// attends to, else nil.
	Hidden(ws *Workspace, dst []float32, tokens []int, batch Batch, memory *Memory, cache *Cache) error
	// Logits sets dst, [rows, Vocab], to the logits for rows x of what Hidden gives.
	Logits(ws *Workspace, dst, x []float32) error
}

// Memory is the output of an encoder: as many sequences as the decoder has, or one that
// all of them share.
type Memory struct {
	X     []float32 // [rows of Batch, width]
	Batch Batch
	Mask  *transformer.Mask // which rows each target sequence sees; nil: all
}

// An AudioEncoder turns features of sound into hidden states.
type AudioEncoder interface {
	Dim() int
	// Features is the number of features of a frame: mel bands.
	Features() int
	// Rows is the number of hidden states for a number of frames.
	Rows(frames int) int
	// EncodeAudio sets dst, [sounds, Rows(frames), Dim], for features, [sounds,
	// Features, frames].
	EncodeAudio(ws *Workspace, dst, features []float32, sounds, frames int) error
}

// An ImageEncoder turns images into hidden states.
type ImageEncoder interface {
	Dim() int
	Channels() int
	Size() (height, width int) // of the images it was trained on
	// Rows is the number of hidden states for an image of a size, or an error if
	// it takes none such.
	Rows(height, width int) (int, error)
	// EncodeImages sets dst, [images, Rows, Dim], for pixels, [images, Channels,
	// height, width].
	EncodeImages(ws *Workspace, dst, pixels []float32, images, height, width int) error
}

// inOrder is the first error of steps, which are computed in order: where one fails,
// what the others compute is of no use, and does no harm.
func inOrder(steps ...error) error {
	for _, err := range steps {
		if err != nil {
			return err
		}
	}
	return nil
}
