// Package numbers translates English number words to French with a small trained transformer that
// is embedded in the program: the model and the text handling that the other examples share.
//
// The model is a torch.nn.Transformer of 675,744 parameters (2 + 2 layers of width 128, 4 heads),
// trained on the numbers from 0 to 999,999.
package numbers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/models/classic"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

//go:embed numbers-en-fr.safetensors
var file []byte

// ErrText is the error for an input that the model cannot read, for errors.Is.
var ErrText = errors.New("cannot read the number")

// names are the checkpoint's names of the model's parts.
var names = classic.Seq2SeqNames{
	SourceEmbedding: "src_embed.", TargetEmbedding: "tgt_embed.",
	Transformer: "transformer.", TransformerNames: classic.TorchTransformer(),
	Generator: "generator.",
}

// Translator is the model with its vocabularies. Goroutines may share it if each has a workspace of
// its own.
type Translator struct {
	Model    *classic.Seq2Seq
	Source   []string // English words by token
	Target   []string // French words by token
	bos, eos int
	ids      map[string]int
}

// Load returns the embedded translator.
func Load() (*Translator, error) { return LoadIn(kernels.FormatF32) }

// LoadIn returns the embedded translator with all its weights in a format.
func LoadIn(format kernels.Format) (*Translator, error) {
	f, err := safetensors.Parse(file)
	if err != nil {
		return nil, err
	}
	pack := func(string, kernels.Format, bool) kernels.Format { return format }
	return newIn(f.Metadata(), transformer.FromSafetensors(f), pack)
}

// New returns the translator that a checkpoint's metadata describes, with weights w.
func New(metadata map[string]string, w transformer.Weights) (*Translator, error) {
	return newIn(metadata, w, nil)
}

func newIn(metadata map[string]string, w transformer.Weights, pack transformer.Chooser) (*Translator, error) {
	var c struct {
		Dim           int    `json:"d_model"`
		Heads         int    `json:"nhead"`
		EncoderLayers int    `json:"num_encoder_layers"`
		DecoderLayers int    `json:"num_decoder_layers"`
		FeedForward   int    `json:"dim_feedforward"`
		Activation    string `json:"activation"`
		NormFirst     bool   `json:"norm_first"`
		MaxLen        int    `json:"max_len"`
		BOS           int    `json:"bos"`
		EOS           int    `json:"eos"`
	}
	t := &Translator{ids: map[string]int{}}
	for key, to := range map[string]any{"config": &c, "src_vocab": &t.Source, "tgt_vocab": &t.Target} {
		if err := pyjson.Unmarshal([]byte(metadata[key]), to); err != nil {
			return nil, fmt.Errorf("metadata %s: %w", key, err)
		}
	}
	activation, ok := map[string]kernels.Activation{"relu": kernels.ActReLU, "gelu": kernels.ActGELU}[c.Activation]
	if !ok {
		return nil, fmt.Errorf("activation %q", c.Activation)
	}
	t.bos, t.eos = c.BOS, c.EOS
	for id, word := range t.Source {
		t.ids[word] = id
	}
	var err error
	t.Model, err = classic.NewSeq2Seq(classic.Seq2SeqConfig{
		TransformerConfig: classic.TorchConfig{Dim: c.Dim, Heads: c.Heads, EncoderLayers: c.EncoderLayers, DecoderLayers: c.DecoderLayers, FeedForward: c.FeedForward, Activation: activation, NormFirst: c.NormFirst}.Transformer(),
		SourceVocab:       len(t.Source), TargetVocab: len(t.Target), MaxLen: c.MaxLen, Pack: pack,
	}, names, w, "")
	return t, err
}

// Tokens returns the model's input for text: its words, and then the end token. All characters
// except letters and digits separate words. Letters and digits that the model has not learned are
// an error.
func (t *Translator) Tokens(text string) ([]int, error) {
	var tokens []int
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		id, ok := t.ids[word]
		if !ok {
			return nil, fmt.Errorf("%w: unknown word %q", ErrText, word)
		}
		tokens = append(tokens, id)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%w: no words", ErrText)
	}
	if tokens = append(tokens, t.eos); len(tokens) > t.Model.MaxLen {
		return nil, fmt.Errorf("%w: %d words, want at most %d", ErrText, len(tokens)-1, t.Model.MaxLen-1)
	}
	return tokens, nil
}

// Text joins French tokens into a text.
func (t *Translator) Text(tokens []int) string {
	words := make([]string, len(tokens))
	for i, id := range tokens {
		words[i] = t.Target[id]
	}
	return strings.ReplaceAll(strings.Join(words, " "), " - ", "-")
}

// Translate returns the French translation of text, and the number of steps of decoding.
func (t *Translator) Translate(ws *transformer.Workspace, text string) (french string, steps int, err error) {
	source, err := t.Tokens(text)
	if err != nil {
		return "", 0, err
	}
	target, err := t.Decode(ws, source)
	return t.Text(target), len(target) + 1, err
}

// Decode returns the model's greedy translation of source tokens.
func (t *Translator) Decode(ws *transformer.Workspace, source []int) (target []int, err error) {
	memory := models.Memory{
		X:     make([]float32, len(source)*t.Model.SourceEmbedding.Dim), // [L, D]
		Batch: transformer.Uniform(1, len(source)),
	}
	if err := t.Model.Encode(ws, memory.X, source, memory.Batch, nil); err != nil {
		return nil, err
	}
	return generation.Collect(generation.Generate(context.Background(), generation.StartLM(ws, t.Model.Decoder(), &memory, 1), []int{t.bos},
		generation.SamplerConfig{}, t.Limits()))
}

// Limits returns limits that end decoding at the end token, or where the model's positions end.
func (t *Translator) Limits() generation.Limits {
	return generation.Limits{MaxTokens: t.Model.MaxLen, Stop: []int{t.eos}}
}

// BOS returns the token that decoding starts with.
func (t *Translator) BOS() int { return t.bos }
