package models

import (
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer"
)

// Whisper: Radford et al., 2022, "Robust Speech Recognition via Large-Scale Weak
// Supervision". Two convolutions over the log-mel spectrogram, then an encoder-decoder
// with normalization first and keys without bias.

func init() { Register(newWhisper, "whisper") }

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
	if err := c.JSON.Decode(&config); err != nil {
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
	lm := &decoder{
		embedder: embedder{
			tokens:    d.At("embed_tokens.").Embedding(config.Vocab, config.Dim),
			positions: d.At("embed_positions.").Embedding(config.MaxPositions, config.Dim),
		},
		norm: d.At("layer_norm.").Norm(norm),
	}
	for i := 0; i < config.DecoderLayers && !c.Loader.Stopped(); i++ {
		lm.add(d.At(bartNames.Layers, i).Layer(decoderLayer, bartNames.Layer), 0)
	}
	m := &Model{LM: lm, Audio: &audioEncoder{
		mels:      config.Mels,
		conv1:     loadConvolution(e.At("conv1."), config.Mels, config.Dim, 3, 1, 1, true),
		conv2:     loadConvolution(e.At("conv2."), config.Dim, config.Dim, 3, 2, 1, true),
		positions: e.At("embed_positions.").Embedding(config.MaxSource, config.Dim),
		layers:    e.Stack(transformer.StackConfig{Layers: config.EncoderLayers, Layer: encoderLayer, FinalNorm: true}, bartNames),
	}}
	if head := c.Loader.At("proj_out."); config.Tied {
		lm.head = head.Tied(lm.tokens, nil)
	} else {
		lm.head = head.Linear(config.Dim, config.Vocab, false)
	}
	return m, nil
}

// audioEncoder turns log-mel spectrograms into hidden states, one for two frames. It
// implements AudioEncoder.
type audioEncoder struct {
	mels         int
	conv1, conv2 *convolution
	positions    *transformer.Embedding
	layers       *transformer.Stack
}

func (a *audioEncoder) Dim() int            { return a.positions.Dim }
func (a *audioEncoder) Features() int       { return a.mels }
func (a *audioEncoder) Rows(frames int) int { return a.conv2.rows(a.conv1.rows(frames)) }

func (a *audioEncoder) EncodeAudio(ws *Workspace, dst, features []float32, sounds, frames int) error {
	rows, dim := a.Rows(frames), a.Dim()
	switch {
	case sounds < 0 || frames < 1 || len(features) != sounds*a.mels*frames:
		return check.Errorf(transformer.ErrShape, "features have %d elements, want %d*%d*%d (sounds*features*frames)", len(features), sounds, a.mels, frames)
	case len(dst) != sounds*rows*dim:
		return check.Errorf(transformer.ErrShape, "dst has %d elements, want %d*%d*%d (sounds*rows*dim)", len(dst), sounds, rows, dim)
	case rows > a.positions.Vocab:
		return check.Errorf(transformer.ErrTooLong, "sound of %d frames, the model takes %d", frames, 2*a.positions.Vocab)
	}
	defer ws.Release(ws.Mark())
	in, hidden := ws.Alloc(frames*a.mels), ws.Alloc(a.conv1.rows(frames)*dim) // [frames, features], [frames, D]
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
		if err := a.conv1.forward(ws, hidden, in); err != nil { // [frames, D]
			return err
		}
		ws.Threads.GELU(hidden, hidden)
		if err := a.conv2.forward(ws, x, hidden); err != nil { // [rows, D]
			return err
		}
		ws.Threads.GELU(x, x)
		if err := a.positions.Add(ws, x, at); err != nil { // [rows, D]
			return err
		}
	}
	return a.layers.Forward(ws, dst, transformer.LayerInput{X: dst, Batch: transformer.Uniform(sounds, rows)}, nil) // [sounds, rows, D]
}
