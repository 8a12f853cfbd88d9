package models

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/sound"
	"github.com/avoformer/avoformer/transformer"
)

// Whisper: Radford et al., 2022, "Robust Speech Recognition via Large-Scale Weak Supervision". Two
// convolutions over the log-mel spectrogram, then an encoder-decoder with normalization first and
// keys without bias.

func init() {
	Register(newWhisper, "whisper")
	Describe(Traits{Use: UseSpeech}, "whisper")
}

type whisperConfig struct {
	bartFields
	Mels         int `json:"num_mel_bins"`
	MaxSource    int `json:"max_source_positions"`
	MaxPositions int `json:"max_target_positions"`
}

func newWhisper(c *Checkpoint) (*Model, error) {
	config := whisperConfig{bartFields: bartDefaults, Mels: 80, MaxSource: 1500, MaxPositions: 448}
	config.Vocab, config.Dim, config.EncoderLayers, config.DecoderLayers = 51865, 384, 4, 4
	config.EncoderHeads, config.DecoderHeads, config.EncoderHidden, config.DecoderHidden = 6, 6, 1536, 1536
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if head := c.Config.Head(); head != "ForConditionalGeneration" && head != "Model" {
		return nil, c.unknownHead()
	}
	encoderLayer, decoderLayer, err := config.layers(c, true)
	if err != nil {
		return nil, err
	}
	for _, a := range []*transformer.AttentionConfig{&encoderLayer.Self, &decoderLayer.Self, decoderLayer.Cross} {
		a.NoKeyBias = true
	}
	norm := bartNorm
	norm.Shape = []int{config.Dim}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = config.Vocab, config.Dim, config.EncoderLayers, config.MaxPositions
	body := c.Loader.Under("encoder.conv1.weight", "model.", "")
	e, d := body.At("encoder."), body.At("decoder.")
	lm := &block.Decoder{
		Embedder: block.Embedder{
			Tokens:    d.At("embed_tokens.").Embedding(config.Vocab, config.Dim),
			Positions: d.At("embed_positions.").Embedding(config.MaxPositions, config.Dim),
		},
		Norm: d.At("layer_norm.").Norm(norm),
	}
	for i := 0; i < config.DecoderLayers && !c.Loader.Stopped(); i++ {
		lm.Add(d.At(bartNames.Layers, i).Layer(decoderLayer, bartNames.Layer), 0)
	}
	m := &Model{LM: lm, Audio: &audioEncoder{
		mels:      config.Mels,
		conv1:     block.LoadConvolution(e.At("conv1."), config.Mels, config.Dim, 3, 1, 1, true),
		conv2:     block.LoadConvolution(e.At("conv2."), config.Dim, config.Dim, 3, 2, 1, true),
		positions: e.At("embed_positions.").Embedding(config.MaxSource, config.Dim),
		layers:    e.Stack(transformer.StackConfig{Layers: config.EncoderLayers, Layer: encoderLayer, FinalNorm: true}, bartNames),
	}}
	if head := c.Loader.At("proj_out."); config.Tied {
		lm.Head = head.Tied(lm.Tokens, nil)
	} else {
		lm.Head = head.Linear(config.Dim, config.Vocab, false)
	}
	return m, nil
}

// audioEncoder turns log-mel spectrograms into hidden states, one for two frames. It implements
// AudioEncoder.
type audioEncoder struct {
	mels         int
	conv1, conv2 *block.Convolution
	positions    *transformer.Embedding
	layers       *transformer.Stack
}

func (a *audioEncoder) Dim() int            { return a.positions.Dim }
func (a *audioEncoder) Features() int       { return a.mels }
func (a *audioEncoder) Rows(frames int) int { return a.conv2.Rows(a.conv1.Rows(frames)) }

func (a *audioEncoder) EncodeAudio(ws *Workspace, dst, features []float32, sounds, frames int) error {
	rows, dim := a.Rows(frames), a.Dim()
	switch {
	case sounds < 0 || frames < 1 || len(features) != sounds*a.mels*frames:
		return check.Errorf(fault.ErrShape, "features have %d elements, want %d*%d*%d (sounds*features*frames)", len(features), sounds, a.mels, frames)
	case len(dst) != sounds*rows*dim:
		return check.Errorf(fault.ErrShape, "dst has %d elements, want %d*%d*%d (sounds*rows*dim)", len(dst), sounds, rows, dim)
	case rows > a.positions.Vocab:
		return check.Errorf(fault.ErrTooLong, "sound of %d frames, the model takes %d", frames, 2*a.positions.Vocab)
	}
	defer ws.Release(ws.Mark())
	in, hidden := ws.Alloc(frames*a.mels), ws.Alloc(a.conv1.Rows(frames)*dim) // [frames, features], [frames, D]
	at := make([]int, rows)
	for r := range at {
		at[r] = r
	}
	for s := range sounds {
		for m := range a.mels { // [features, frames] to [frames, features]
			for f := range frames {
				in[f*a.mels+m] = features[(s*a.mels+m)*frames+f]
			}
		}
		x := dst[s*rows*dim : (s+1)*rows*dim]
		if err := a.conv1.Forward(ws, hidden, in); err != nil { // [frames, D]
			return err
		}
		ws.Threads.GELU(hidden, hidden)
		if err := a.conv2.Forward(ws, x, hidden); err != nil { // [rows, D]
			return err
		}
		ws.Threads.GELU(x, x)
		if err := a.positions.Add(ws, x, at); err != nil { // [rows, D]
			return err
		}
	}
	return a.layers.Forward(ws, dst, transformer.LayerInput{X: dst, Batch: transformer.Uniform(sounds, rows)}, nil) // [sounds, rows, D]
}

// Sampling of sound.
const (
	SampleRate     = sound.SampleRate // samples a second
	SpectrogramHop = sound.SpectrogramHop
)

// LogMel returns the log-mel spectrogram of mono samples at 16 kHz, [bins, frames] with one frame
// for each SpectrogramHop samples: the power in bins bands that are equally wide on Slaney's mel
// scale, as log10, no further than 8 below the loudest, plus 4, divided by 4. Samples are mirrored
// at both ends, of which there must be more than 200. Whisper itself takes 30 seconds, short sound
// with zeros after it.
func LogMel(samples []float32, bins int) ([]float32, error) { return sound.LogMel(samples, bins) }

// NormalizedLogMel returns the log-mel spectrogram of mono samples at 16 kHz that Parakeet takes,
// [bins, frames] with one frame for each SpectrogramHop samples, in which every bin has mean 0 and
// standard deviation 1. It is computed as transformers' ParakeetFeatureExtractor does by default.
// Samples for less than two frames are an error that matches fault.ErrShape.
func NormalizedLogMel(samples []float32, bins int) ([]float32, error) {
	return sound.NormalizedLogMel(samples, bins)
}
