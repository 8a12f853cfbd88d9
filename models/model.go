package models

import (
	"path"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// What a model can do: the interfaces between architectures and those who use them; in which
// precision it is held; and the registry of architectures by model_type.

// The types of package transformer that signatures here are made of.
type (
	Workspace = transformer.Workspace
	Batch     = transformer.Batch
	Cache     = transformer.Cache
	Pages     = transformer.Pages
	History   = transformer.History
	Tokens    = transformer.Tokens
	Memory    = transformer.Memory
)

// A Model is what a folder holds. Its parts are nil where the architecture, or the
// checkpoint, lacks them.
type Model struct {
	Config Config
	// Warnings are about fields of config.json that neither the architecture nor transformers
	// knows, and keys of a GGUF file that are not read, one each: remarks, most of them, but
	// also what a newer release may act on. One says how many bytes of a GGUF file become how
	// many of float32, if types of weights have no products of their own: Q2_K, Q3_K, IQ4_NL and IQ4_XS.
	Warnings []string
	// Adapters are the names of those that stay beside the weights of LM: number 1 of a [History] is the first.
	Adapters []string
	// Holdings are the weights of linear layers and tables that the model was opened with, and the format of each.
	Holdings []transformer.Holding
	// Footprint is the memory that the model takes.
	Footprint Footprint

	Encoder         Encoder // from tokens to hidden states
	Pooler          Head    // to the pooler_output of each sequence
	Classifier      Head    // to the logits of each sequence's labels
	TokenClassifier Head    // to the logits of each token's labels
	MaskedLM        Head    // to the logits of the vocabulary at each token
	NextSentence    Head    // to the logits of each sequence's second text following its first, and not
	Answer          Head    // to the logits of an answer starting and ending at each token

	// LM generates text: a decoder on its own, or after Encoder or Audio, to whose
	// output it then attends.
	LM    LanguageModel
	Audio AudioEncoder
	CTC   Head // to the logits of the vocabulary at each hidden state of Audio, of which one token is blank: the padding

	// Image encodes images. ImageClassifier takes what it gives, as ImagePooler does.
	Image           ImageEncoder
	ImageClassifier Head
	ImagePooler     Head

	// Joint compares texts and images by vectors of one space.
	Joint Joint

	// Sentence is the embedding of sentences that modules.json describes.
	Sentence *SentenceEmbedder

	// Sparse makes sparse vectors, and Vectors a vector of each token, where the files of the folder say
	// how. A folder that has them alone has a Sentence whose Dim is 0: prompts and lengths.
	Sparse  SparseHead
	Vectors *TokenEmbedder
}

// An Encoder turns tokens into hidden states.
type Encoder interface {
	Dim() int // width of the hidden states
	// Encode sets dst, [rows, Dim], to the hidden states after the last layer.
	Encode(ws *Workspace, dst []float32, in Tokens) error
}

// A Head turns hidden states into something else: logits, a pooled vector. Whether
// there is one result for a sequence or for each of its rows depends on what it is.
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
	// NewPages is a pool of pages for histories of the model, of which layers with windows keep no more
	// than they need. Those in use have at most limit bytes; 0: no limit.
	NewPages(limit int64) *Pages
	// Hidden sets dst, [rows, Dim], to the hidden states of the tokens of batch
	// after the last layer and its normalization. The tokens follow those that
	// cache holds; it may be nil. memory is what a decoder after an encoder
	// attends to, else nil.
	Hidden(ws *Workspace, dst []float32, tokens []int, batch Batch, memory *Memory, cache *Cache) error
	// Logits sets dst, [rows, Vocab], to the logits for rows x of what Hidden gives.
	Logits(ws *Workspace, dst, x []float32) error
}

// An AudioEncoder turns features of sound into hidden states.
type AudioEncoder interface {
	Dim() int
	// Features is the number of features of a frame: mel bands; 1 where frames are samples.
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

// Options say how a model is held. The zero value is as everywhere here: linear layers in
// float32, or in the blocks that a checkpoint has, or as a GGUF file has them; tables of vectors as they are stored.
type Options struct {
	// Weights is the format that the weights of linear layers are packed in. FormatF32 leaves
	// those of a GGUF file in its formats, and those that a checkpoint has in blocks.
	//
	// Formats of 16 bits take half the memory and, where few rows are computed at a
	// time, half the time; results are those of the rounded weights.
	//
	// kernels.FormatInt8 takes a quarter of both, and makes integers of what is multiplied
	// with the weights, block by block, as some machines do with the formats of GGUF. These
	// formats hold for the layers that repeat, those with a number in their name; heads,
	// poolers and the embeddings tied to a head stay as the checkpoint stores them.
	Weights kernels.Format
	// Formats decides for single weights, before Weights: the first entry counts that matches.
	// It decides for tables of vectors too.
	Formats []NamedFormat
	// Cache is the format in which caches hold keys and values: float32, 16 bits, or int8 with a
	// scale for each row of a head; those of an encoder's memory stay float32. Fewer bits save
	// memory, not time: attention widens what it reads.
	Cache kernels.Format
	// Prompts, unless it is FormatF32, is the format of a second copy of the weights that are held in float32 or 16 bits, of the
	// layers that repeat: products of transformer.ManyRows rows and more are with it, which are those of prompts mostly. With
	// FormatInt8 prompts take a half to a third of the time, one byte more is held for each weight, and what the
	// model reads of a prompt is what it would with Weights of that format. How many rows a product has depends on what else is
	// computed, so that it cannot stand beside Exact.
	Prompts kernels.Format
	// Exact gives each sequence the same bits whatever else is computed with it: of float32 and 16-bit weights, one
	// row is then multiplied as several are, which takes more time. Of other formats it is always so.
	Exact bool
	// MemoryLimit is the most bytes that opening the model may take, as Footprint.Loading tells them: more are an error
	// that matches ErrMemory, before the memory is taken. 0: no limit.
	MemoryLimit int64
	// HeadersOnly leaves the weights where they are, but for vectors that are small: the model tells what it is and what memory
	// it would take, and its parts give errors when they are to compute.
	HeadersOnly bool
	// Warn, unless it is nil, is called with each of the model's Warnings as soon as it is known: before memory for
	// weights is taken, if it is about that.
	Warn func(warning string)
	// Adapters become part of the weights as these are read: W becomes W + Scale*alpha/rank*B*A for
	// each, in float32, and is rounded to its format afterwards, also where a file has blocks. Tables
	// of vectors that are stored in 16 bits become float32. Those with a Name stay beside the weights instead.
	Adapters []Adapter

	asStored bool   // linear layers too, instead of float32
	path     string // of the folder, where it has one
}

// NamedFormat is the format for the weights whose name in the model, such as
// "model.layers.0.mlp.up_proj.weight", matches Pattern by the rules of path.Match: "lm_head.*",
// "*.mlp.*".
type NamedFormat struct {
	Pattern string
	Format  kernels.Format
}

func (f NamedFormat) matches(name string) bool {
	ok, _ := path.Match(f.Pattern, name)
	return ok
}

// format is the format for a weight of a linear layer, or a table; the checkpoint has it as
// stored.
func (o Options) format(name string, stored kernels.Format, table bool) kernels.Format {
	for _, f := range o.Formats {
		if f.matches(name) {
			return f.Format
		}
	}
	switch {
	case table,
		o.Weights == kernels.FormatF32 && (o.asStored || stored > kernels.FormatInt8), // in blocks
		o.Weights >= kernels.FormatInt8 && !repeats(name):
		return stored
	}
	return o.Weights
}

// hasPrompts reports whether there are second copies.
func (o Options) hasPrompts() bool { return o.Prompts != kernels.FormatF32 }

// prompts is the format of a second copy of a weight that is held in another.
func (o Options) prompts(name string, held kernels.Format, _ bool) kernels.Format {
	if held > kernels.FormatF16 || !repeats(name) {
		return held
	}
	return o.Prompts
}

// warn hands over warnings.
func (o Options) warn(warnings ...string) []string {
	if o.Warn != nil {
		for _, w := range warnings {
			o.Warn(w)
		}
	}
	return warnings
}

// check returns an error if there is no such format, or a pattern is malformed.
func (o Options) check() error {
	for _, f := range append([]NamedFormat{{Format: o.Weights}, {Format: o.Prompts}}, o.Formats...) {
		if _, err := path.Match(f.Pattern, ""); err != nil {
			return check.Option("Pattern", f.Pattern, "%w", err)
		}
		if _, err := kernels.ParseFormat(f.Format.String()); err != nil {
			return check.Option("Format", f.Format, "there is no such format")
		}
	}
	switch {
	case !o.hasPrompts():
	case o.Prompts < kernels.FormatInt8:
		return check.Option("Prompts", o.Prompts, "want f32, which is no copy, int8 or a format of blocks")
	case o.Exact:
		return check.Option("Prompts", o.Prompts, "beside Exact")
	}
	if o.Cache > kernels.FormatInt8 {
		return check.Option("Cache", o.Cache, "want f32, bf16, f16 or int8")
	}
	return nil
}

// noLM is the error of asking a model without one for what a language model does.
func (m *Model) noLM() error {
	return check.Errorf(transformer.ErrConfig, "%s is no language model", m.Config.ModelType)
}

// Logits sets dst, [rows, vocabulary], to the logits of the token after each token of a
// batch, with m.LM. The tokens follow those that cache holds, which may be nil, as
// memory may be.
func (m *Model) Logits(ws *Workspace, dst []float32, tokens []int, batch Batch, memory *Memory, cache *Cache) error {
	if m.LM == nil {
		return m.noLM()
	}
	if ws == nil {
		return check.Errorf(transformer.ErrConfig, "workspace is nil; pass new(Workspace)")
	}
	if len(dst) != batch.Rows()*m.LM.Vocab() {
		return check.Errorf(transformer.ErrShape, "logits have %d elements, want %d*%d (rows*vocabulary)", len(dst), batch.Rows(), m.LM.Vocab())
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
	// EmbedTexts sets dst, [sequences, Dim], to the vectors of texts, which end with the
	// token that their tokenizer puts there.
	EmbedTexts(ws *Workspace, dst []float32, in Tokens) error
	// EmbedImages sets dst, [images, Dim], to the vectors of pixels, [images, channels,
	// height, width].
	EmbedImages(ws *Workspace, dst, pixels []float32, images, height, width int) error
	// Compare sets dst, [images, texts], to the logits of each image and text belonging
	// together: the products of their vectors, [images, Dim] and [texts, Dim], scaled.
	Compare(ws *Workspace, dst, images, texts []float32) error
}

// An Adapter is changes of a model that were trained and published without it.
type Adapter struct {
	// Path is that of a folder as Python's peft writes it, with adapter_config.json and
	// adapter_model.safetensors or .bin, or of its repository in the hub's cache; for a model in a
	// GGUF file, that of a GGUF file of the type adapter.
	Path string
	// Scale multiplies what the adapter adds to weights; 0: 1.
	Scale float32
	// Name, unless empty, has the adapter stay beside the weights of a language model, for those texts that ask for it by
	// this name: several, each for itself, on one model in memory. It may then change layers that repeat alone.
	Name string
}

// Footprint is the memory of a model in bytes: of its weights, and of the keys and values of texts that it generates. What
// else a program takes is not in it: the tokenizer, and workspaces, which depend on how many tokens are computed at a time. Nor
// are the dense layers that modules.json and the files of BGE-M3 add.
type Footprint struct {
	Weights int64 `json:"weights"` // as they are held
	Loading int64 `json:"loading"` // the most while they are read and packed
	// Token is the keys and values of one token in the format of Options.Cache, and Context those of a text of
	// Config.MaxLength tokens, which is less than as many times Token where layers have windows. They are 0 of models that generate nothing,
	// and Context is 0 where texts have no limit.
	Token   int64 `json:"token,omitempty"`
	Context int64 `json:"context,omitempty"`
	// MemoryRow is the keys and values of a hidden state of the encoder that the decoder attends to, if there is one.
	MemoryRow int64 `json:"memory_row,omitempty"`
}

// BareEmbedder is what sentence-transformers makes of a folder without modules.json, which needs
// m.Encoder: a text's vector is the mean of its hidden states, or the last of them where the
// checkpoint is named after a language model.
func (m *Model) BareEmbedder() *SentenceEmbedder {
	mode := "mean"
	if m.Config.Head() == "ForCausalLM" {
		mode = "lasttoken"
	}
	s, _ := m.PooledEmbedder(mode)
	return s
}

// PooledEmbedder is BareEmbedder with a mode of sentence-transformers' Pooling: cls, lasttoken, max, mean,
// mean_sqrt_len_tokens or weightedmean; ErrOption for another one.
func (m *Model) PooledEmbedder(mode string) (*SentenceEmbedder, error) {
	return pooledSentences(m.Encoder, mode)
}

// Splade makes sparse vectors by the head of masked words as SPLADE does, an error of Weigh without one; it is for folders
// that do not say how theirs are made.
func (m *Model) Splade() SparseHead { return newSplade(m.MaskedLM) }
