package models

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/matrix"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/sound"
	"github.com/avoformer/avoformer/transformer"
)

// Parakeet: Rekesh et al., 2023, "Fast Conformer with Linearly Scalable Attention for Efficient
// Speech Recognition". Convolutions make one hidden state of eight frames of a log-mel spectrogram,
// which layers of a Conformer pass on. Pieces of words are read off frame by frame: Graves et al.,
// 2006, "Connectionist Temporal Classification".

func init() {
	Register(newParakeetCTC, "parakeet_ctc")
	Register(newParakeetEncoder, "parakeet_encoder")
	Describe(Traits{Use: UseSpeech}, "parakeet_ctc")
}

type parakeetConfig struct {
	Dim             int    `json:"hidden_size"`
	Layers          int    `json:"num_hidden_layers"`
	Heads           int    `json:"num_attention_heads"`
	KVHeads         int    `json:"num_key_value_heads" min:"0"`
	HeadDim         int    `json:"head_dim" min:"0"`
	Hidden          int    `json:"intermediate_size"`
	Activation      string `json:"hidden_act"`
	Bias            bool   `json:"attention_bias"`
	ConvolutionBias bool   `json:"convolution_bias"`
	Steps           int    `json:"conv_kernel_size"`
	Factor          int    `json:"subsampling_factor"`
	Channels        int    `json:"subsampling_conv_channels"`
	Bins            int    `json:"num_mel_bins"`
	SubsamplingStep int    `json:"subsampling_conv_kernel_size"`
	Stride          int    `json:"subsampling_conv_stride"`
	Positions       int    `json:"max_position_embeddings"`
	ScaleInput      bool   `json:"scale_input"`
}

// parakeetDefaults has the defaults of transformers' ParakeetEncoderConfig.
var parakeetDefaults = parakeetConfig{
	Dim: 1024, Layers: 24, Heads: 8, Hidden: 4096, Activation: "silu", Bias: true, ConvolutionBias: true, Steps: 9, Factor: 8, Channels: 256,
	Bins: 80, SubsamplingStep: 3, Stride: 2, Positions: 5000, ScaleInput: true,
}

func newParakeetCTC(c *Checkpoint) (*Model, error) {
	head := struct {
		Vocab int `json:"vocab_size"`
	}{Vocab: 1025}
	if err := c.doc.Decode(&head); err != nil {
		return nil, err
	}
	if c.Config.Head() != "ForCTC" {
		return nil, c.unknownHead()
	}
	a, err := c.parakeet()
	if err != nil {
		return nil, err
	}
	c.Config.Vocab = head.Vocab
	l := c.Loader.At("ctc_head.")
	m := &Model{Audio: a}
	m.Heads[HeadCTC] = &block.Head{Last: l.LinearOf(a.Dim(), head.Vocab, l.Tensor("weight", head.Vocab, a.Dim(), 1), l.Tensor("bias", head.Vocab))}
	return m, nil
}

// newParakeetEncoder returns only the encoder, which is also published by itself.
func newParakeetEncoder(c *Checkpoint) (*Model, error) {
	if c.Config.Head() != "Model" {
		return nil, c.unknownHead()
	}
	a, err := c.loadParakeet(c.doc, c.Loader)
	return &Model{Audio: a}, err
}

// parakeet returns the encoder that the field encoder_config describes.
func (c *Checkpoint) parakeet() (*spectrogramEncoder, error) {
	const field = "encoder_config"
	doc := configuration.Document{Name: c.doc.Name + ": " + field}
	if c.doc.Has(field) {
		var err error
		if doc, err = c.doc.Sub(field); err != nil {
			return nil, err
		}
	}
	return c.loadParakeet(doc, c.Loader.At("encoder."))
}

// loadParakeet returns the encoder that d describes.
func (c *Checkpoint) loadParakeet(d configuration.Document, l *transformer.Loader) (*spectrogramEncoder, error) {
	config := parakeetDefaults
	if err := d.Decode(&config); err != nil {
		return nil, err
	}
	subsampling, err := config.check(d)
	if err != nil {
		return nil, err
	}
	activation, err := d.Activation("hidden_act", config.Activation)
	if err != nil {
		return nil, err
	}
	c.Config.Dim, c.Config.Layers = config.Dim, config.Layers
	a := &spectrogramEncoder{subsampling: block.LoadSubsampling(subsampling, l.At("subsampling.")), scale: 1, positions: config.Positions, keep: keptDistances}
	if config.ScaleInput {
		a.scale = float32(math.Sqrt(float64(config.Dim)))
	}
	for i := 0; i < config.Layers && !l.Stopped(); i++ {
		a.layers = append(a.layers, block.LoadConformer(block.ConformerConfig{
			Dim: config.Dim, Heads: config.Heads, Hidden: config.Hidden, Steps: config.Steps, Activation: activation, Bias: config.Bias, ConvolutionBias: config.ConvolutionBias,
		}, l.At("layers.%d.", i)))
	}
	return a, nil
}

// check returns the sizes of the subsampling, or the error of fields that contradict each other or
// are not supported.
func (config *parakeetConfig) check(d configuration.Document) (s block.SubsamplingConfig, err error) {
	s = block.SubsamplingConfig{
		Bins: config.Bins, Channels: config.Channels, Steps: config.SubsamplingStep, Stride: config.Stride, Dim: config.Dim,
		Layers: max(1, bits.Len(uint(config.Factor))-1), // the first convolution is there in any case
	}
	switch {
	case config.Dim%config.Heads != 0:
		return s, d.Errorf("num_attention_heads", "does not divide hidden_size = %d", config.Dim)
	case config.Dim%2 != 0:
		return s, d.Errorf("hidden_size", "want an even number")
	case config.KVHeads != 0 && config.KVHeads != config.Heads:
		return s, d.Errorf("num_key_value_heads", "want num_attention_heads = %d", config.Heads)
	case config.HeadDim != 0 && config.HeadDim != config.Dim/config.Heads:
		return s, d.Errorf("head_dim", "want %d, hidden_size divided by num_attention_heads", config.Dim/config.Heads)
	case config.Steps%2 == 0 || config.Steps > mostSteps:
		return s, d.Errorf("conv_kernel_size", "want an odd number up to %d", mostSteps)
	case config.SubsamplingStep%2 == 0 || config.SubsamplingStep > mostArea:
		return s, d.Errorf("subsampling_conv_kernel_size", "want an odd number up to %d", mostArea)
	case config.Bins > sound.MostBins:
		return s, d.Errorf("num_mel_bins", "want at most %d", sound.MostBins)
	}
	left := config.Bins // as transformers counts frequencies, which need not be as many as there are
	for range bits.Len(uint(config.Factor)) - 1 {
		left /= config.Stride
	}
	if have := s.Frequencies(); have != left {
		return s, d.Errorf("num_mel_bins", "convolutions leave %d frequencies of it, subsampling_factor = %d and subsampling_conv_stride = %d want %d", have, config.Factor, config.Stride, left)
	}
	return s, nil
}

const (
	mostSteps = 1 << 10 // of a convolution over time
	mostArea  = 31      // steps of one over time and frequency, over each
)

// spectrogramEncoder turns log-mel spectrograms into hidden states. It implements AudioEncoder.
type spectrogramEncoder struct {
	subsampling *block.Subsampling
	scale       float32 // of what enters the layers
	layers      []*block.Conformer
	known       atomic.Pointer[distances] // of earlier sounds; nil: none
	keep        int                       // most bytes of known
	positions   int
}

func (a *spectrogramEncoder) Dim() int            { return a.subsampling.Dim }
func (a *spectrogramEncoder) Features() int       { return a.subsampling.Bins }
func (a *spectrogramEncoder) Rows(frames int) int { return a.subsampling.Rows(frames) }

// Stride returns the number of samples from one hidden state to the next.
func (a *spectrogramEncoder) Stride() int {
	n := sound.SpectrogramHop
	for range a.subsampling.Layers {
		n *= a.subsampling.Stride
	}
	return n
}

// MaxRows returns the number of hidden states that the configuration has positions for. EncodeAudio
// takes more.
func (a *spectrogramEncoder) MaxRows() int { return a.positions }

func (a *spectrogramEncoder) EncodeAudio(ws *Workspace, dst, features []float32, sounds, frames int) error {
	bins, rows, dim := a.Features(), a.Rows(frames), a.Dim()
	switch {
	case sounds < 0 || frames < 1 || len(features) != sounds*bins*frames:
		return check.Errorf(fault.ErrShape, "features have %d elements, want %d*%d*%d (sounds*features*frames)", len(features), sounds, bins, frames)
	case len(dst) != sounds*rows*dim:
		return check.Errorf(fault.ErrShape, "dst has %d elements, want %d*%d*%d (sounds*rows*dim)", len(dst), sounds, rows, dim)
	}
	defer ws.Release(ws.Mark())
	in := ws.Alloc(frames * bins) // [frames, features]
	for s := range sounds {
		matrix.Transpose(in, features[s*bins*frames:(s+1)*bins*frames], frames)
		if err := a.subsampling.Forward(ws, dst[s*rows*dim:(s+1)*rows*dim], in); err != nil { // [rows, D]
			return err
		}
	}
	if a.scale != 1 {
		ws.Threads.Scale(dst, dst, a.scale)
	}
	return a.forward(ws, dst, transformer.Uniform(sounds, rows), rows)
}
