package models

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// Moonshine: Jeffries et al., 2024, "Moonshine: Speech Recognition for Live Transcription and Voice
// Commands". Convolutions over the samples themselves, then an encoder-decoder with rotary
// positions, which takes sound of any length as it is.

func init() {
	Register(newMoonshine, "moonshine")
	Describe(Traits{Use: UseSpeech}, "moonshine")
}

type moonshineConfig struct {
	configuration.RopeFields
	Vocab             int    `json:"vocab_size"`
	Dim               int    `json:"hidden_size"`
	Hidden            int    `json:"intermediate_size"`
	EncoderLayers     int    `json:"encoder_num_hidden_layers"`
	DecoderLayers     int    `json:"decoder_num_hidden_layers"`
	EncoderHeads      int    `json:"encoder_num_attention_heads"`
	DecoderHeads      int    `json:"decoder_num_attention_heads"`
	EncoderKVHeads    int    `json:"encoder_num_key_value_heads" min:"0"`
	DecoderKVHeads    any    `json:"decoder_num_key_value_heads"` // transformers takes the encoder's
	HeadDim           int    `json:"head_dim" min:"0"`
	PadHeads          int    `json:"pad_head_dim_to_multiple_of" min:"0"` // zeros beside the features of a head change nothing
	EncoderActivation string `json:"encoder_hidden_act"`
	DecoderActivation string `json:"decoder_hidden_act"`
	MaxPositions      int    `json:"max_position_embeddings"`
	Bias              bool   `json:"attention_bias"`
	Tied              bool   `json:"tie_word_embeddings"`
}

var (
	moonshineNorm         = transformer.NormConfig{Eps: 1e-5, NoBias: true}
	moonshineEncoderNames = transformer.StackNames{Layers: "layers.%d.", Norm: "layer_norm.", Layer: transformer.LayerNames{
		Self: "self_attn.", SelfNorm: "input_layernorm.", Attention: moonshineAttention,
		Feed: transformer.FeedForwardNames{Up: "mlp.fc1.", Down: "mlp.fc2."}, FeedNorm: "post_attention_layernorm.",
	}}
	moonshineDecoderNames = transformer.LayerNames{
		Self: "self_attn.", SelfNorm: "input_layernorm.", Cross: "encoder_attn.", CrossNorm: "post_attention_layernorm.", Attention: moonshineAttention,
		Feed: transformer.FeedForwardNames{Packed: "mlp.fc1.", UpFirst: true, Down: "mlp.fc2."}, FeedNorm: "final_layernorm.",
	}
	moonshineAttention = transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "o_proj."}
)

func newMoonshine(c *Checkpoint) (*Model, error) {
	config := moonshineConfig{
		RopeFields: configuration.Rope(10000), Vocab: 32768, Dim: 288, Hidden: 1152, EncoderLayers: 6, DecoderLayers: 6, EncoderHeads: 8, DecoderHeads: 8,
		EncoderActivation: "gelu", DecoderActivation: "silu", MaxPositions: 512, Tied: true,
	}
	config.Part, config.Partial = 0.9, true
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if head := c.Config.Head(); head != "ForConditionalGeneration" && head != "Model" {
		return nil, c.unknownHead()
	}
	encoderLayer, decoderLayer, err := config.layers(c.doc)
	if err != nil {
		return nil, err
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = config.Vocab, config.Dim, config.EncoderLayers, config.MaxPositions
	if c.Config.DecoderStart < 0 {
		c.Config.DecoderStart = 1
	}
	body := c.Loader.Under("encoder.conv1.weight", "model.", "")
	e, d := body.At("encoder."), body.At("decoder.")
	norm := moonshineNorm
	norm.Shape = []int{config.Dim}
	lm := &block.Decoder{
		Embedder: block.Embedder{Tokens: d.At("embed_tokens.").Embedding(config.Vocab, config.Dim)},
		Norm:     d.At("norm.").Norm(norm),
		ByLength: decoderLayer.Self.Rotary.FrequenciesAt != nil,
	}
	for i := 0; i < config.DecoderLayers && !c.Loader.Stopped(); i++ {
		lm.Add(d.At("layers.%d.", i).Layer(decoderLayer, moonshineDecoderNames), 0)
	}
	if head := c.Loader.At("proj_out."); config.Tied {
		lm.Head = head.Tied(lm.Tokens, nil)
	} else {
		lm.Head = head.Linear(config.Dim, config.Vocab, false)
	}
	return &Model{LM: lm, Audio: &moonshineEncoder{
		convolutions: convolutions{
			block.LoadConvolution(e.At("conv1."), 1, config.Dim, 127, 64, 0, false),
			block.LoadConvolution(e.At("conv2."), config.Dim, 2*config.Dim, 7, 3, 0, true),
			block.LoadConvolution(e.At("conv3."), 2*config.Dim, config.Dim, 3, 2, 0, true),
		},
		weight: e.Tensor("groupnorm.weight", config.Dim),
		bias:   e.Tensor("groupnorm.bias", config.Dim),
		layers: e.Stack(transformer.StackConfig{Layers: config.EncoderLayers, Layer: encoderLayer, FinalNorm: true}, moonshineEncoderNames),
	}}, nil
}

// layers returns the configuration of a layer of the encoder and of one of the decoder, or the
// error of fields that contradict each other.
func (config *moonshineConfig) layers(d configuration.Document) (encoder, decoder transformer.LayerConfig, err error) {
	heads := config.EncoderHeads
	const kvHeads = "encoder_num_key_value_heads"
	switch {
	case config.EncoderKVHeads != heads && d.Has(kvHeads):
		return encoder, decoder, d.Errorf(kvHeads, "want encoder_num_attention_heads = %d", heads)
	case config.DecoderHeads != heads: // for which transformers takes the encoder's
		return encoder, decoder, d.Errorf("decoder_num_attention_heads", "want encoder_num_attention_heads = %d", heads)
	case d.Has("pad_head_dim_to_multiple_of") && config.PadHeads == 0:
		return encoder, decoder, d.Errorf("pad_head_dim_to_multiple_of", "want an integer from 1")
	case config.HeadDim != 0:
	case config.Dim%heads != 0:
		return encoder, decoder, d.Errorf("encoder_num_attention_heads", "does not divide hidden_size = %d", config.Dim)
	default:
		config.HeadDim = config.Dim / heads
	}
	rotary, err := d.Rotary(config.RopeFields, config.HeadDim, config.MaxPositions)
	if err != nil {
		return encoder, decoder, err
	}
	rotary.Pairing = transformer.PairNeighbours
	layer := func(field, name string) (transformer.LayerConfig, error) {
		activation, sharpness, err := d.FeedActivation(field, name)
		return transformer.LayerConfig{
			Self:        transformer.AttentionConfig{Dim: config.Dim, Heads: heads, HeadDim: config.HeadDim, Bias: config.Bias, Rotary: rotary},
			FeedForward: transformer.FeedForwardConfig{Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Bias: true},
			Norm:        moonshineNorm, NormFirst: true,
		}, err
	}
	if encoder, err = layer("encoder_hidden_act", config.EncoderActivation); err != nil {
		return encoder, decoder, err
	}
	if decoder, err = layer("decoder_hidden_act", config.DecoderActivation); err != nil {
		return encoder, decoder, err
	}
	cross := decoder.Self
	cross.Rotary = nil
	decoder.Cross, decoder.FeedForward.Gated = &cross, true
	return encoder, decoder, nil
}

// moonshineEncoder turns samples into hidden states. It implements AudioEncoder, with a frame for
// each sample.
type moonshineEncoder struct {
	convolutions
	weight, bias []float32 // [D], of the normalization after the first convolution
	layers       *transformer.Stack
}

func (a *moonshineEncoder) Dim() int      { return len(a.weight) }
func (a *moonshineEncoder) Features() int { return 1 }

func (a *moonshineEncoder) EncodeAudio(ws *Workspace, dst, samples []float32, sounds, frames int) error {
	rows := a.Rows(frames)
	if err := eachSound(dst, samples, sounds, frames, rows, a.Dim(), func(dst, samples []float32) error { return a.enter(ws, dst, samples) }); err != nil {
		return err
	}
	return a.layers.Forward(ws, dst, transformer.LayerInput{X: dst, Batch: transformer.Uniform(sounds, rows)}, nil) // [sounds, rows, D]
}

// enter sets dst, [rows, D], to what enters the layers for the samples of one sound.
func (a *moonshineEncoder) enter(ws *Workspace, dst, samples []float32) error {
	defer ws.Release(ws.Mark())
	first, second, third := a.convolutions[0], a.convolutions[1], a.convolutions[2]
	x := ws.Alloc(first.Rows(len(samples)) * first.Linear.Out) // [n, D]
	if err := first.Forward(ws, x, samples); err != nil {
		return err
	}
	ws.Threads.Tanh(x, x)
	normalizeSound(x, a.weight, a.bias)
	y := ws.Alloc(second.Rows(first.Rows(len(samples))) * second.Linear.Out) // [n, 2*D]
	if err := second.Forward(ws, y, x); err != nil {
		return err
	}
	gelu := block.Activate(kernels.ActGELU)
	gelu(ws.Threads, y)
	if err := third.Forward(ws, dst, y); err != nil { // [rows, D]
		return err
	}
	gelu(ws.Threads, dst)
	return nil
}
