package models

import (
	"math"

	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// BART: Lewis et al., 2020, "BART: Denoising Sequence-to-Sequence Pre-training"; and those made
// like it: mBART (Liu et al., 2020, "Multilingual Denoising Pre-training"), which normalizes first,
// Marian (Junczys-Dowmunt et al., 2018) and M2M-100 (Fan et al., 2021, "Beyond English-Centric
// Multilingual Machine Translation").

func init() {
	Register(newBART, "bart", "mbart")
	Describe(Traits{NoVectors: "would make vectors by its decoder, which is not supported"}, "bart", "mbart")
	Register(newMarian, "marian")
	Register(newM2M100, "m2m_100")
}

// bartFields has the fields of config.json of BART and of models that are built like it.
type bartFields struct {
	Vocab          int    `json:"vocab_size"`
	Dim            int    `json:"d_model"`
	EncoderLayers  int    `json:"encoder_layers"`
	DecoderLayers  int    `json:"decoder_layers"`
	EncoderHeads   int    `json:"encoder_attention_heads"`
	DecoderHeads   int    `json:"decoder_attention_heads"`
	EncoderHidden  int    `json:"encoder_ffn_dim"`
	DecoderHidden  int    `json:"decoder_ffn_dim"`
	Activation     string `json:"activation_function"`
	ScaleEmbedding bool   `json:"scale_embedding"`
	Tied           bool   `json:"tie_word_embeddings"`
}

// bartDefaults has transformers' defaults of fields that config.json lacks.
var bartDefaults = bartFields{
	Vocab: 50265, Dim: 1024, EncoderLayers: 12, DecoderLayers: 12, EncoderHeads: 16, DecoderHeads: 16, EncoderHidden: 4096, DecoderHidden: 4096,
	Activation: "gelu", Tied: true,
}

type bartConfig struct {
	bartFields
	MaxPositions int `json:"max_position_embeddings"`
	Pad          int `json:"pad_token_id" min:"0"`
}

type marianConfig struct {
	bartConfig
	DecoderVocab int  `json:"decoder_vocab_size" min:"0"` // 0: that of the encoder
	Shared       bool `json:"share_encoder_decoder_embeddings"`
}

// bartNames is the names of a stack.
var bartNames = transformer.StackNames{Layers: "layers.%d.", Norm: "layer_norm.", Layer: transformer.LayerNames{
	Self: "self_attn.", SelfNorm: "self_attn_layer_norm.",
	Cross: "encoder_attn.", CrossNorm: "encoder_attn_layer_norm.",
	Attention: transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "out_proj."},
	Feed:      transformer.FeedForwardNames{Up: "fc1.", Down: "fc2."}, FeedNorm: "final_layer_norm.",
}}

var bartNorm = transformer.NormConfig{Eps: 1e-5}

// layers returns the configuration of a layer of the encoder and one of the decoder.
func (f *bartFields) layers(c *Checkpoint, normFirst bool) (encoder, decoder transformer.LayerConfig, err error) {
	activation, sharpness, err := c.doc.FeedActivation("activation_function", f.Activation)
	switch {
	case err != nil:
	case f.Dim%f.EncoderHeads != 0:
		err = c.doc.Errorf("encoder_attention_heads", "does not divide d_model = %d", f.Dim)
	case f.Dim%f.DecoderHeads != 0:
		err = c.doc.Errorf("decoder_attention_heads", "does not divide d_model = %d", f.Dim)
	}
	layer := func(heads, hidden int) transformer.LayerConfig {
		return transformer.LayerConfig{
			Self:        transformer.AttentionConfig{Dim: f.Dim, Heads: heads, Bias: true, OutBias: true},
			FeedForward: transformer.FeedForwardConfig{Hidden: hidden, Activation: activation, Sharpness: sharpness, Bias: true},
			Norm:        bartNorm,
			NormFirst:   normFirst,
		}
	}
	encoder, decoder = layer(f.EncoderHeads, f.EncoderHidden), layer(f.DecoderHeads, f.DecoderHidden)
	cross := decoder.Self
	decoder.Cross = &cross
	return encoder, decoder, err
}

// bart returns an encoder-decoder whose embedders are e and d, and whose head is tied to shared.
// Where normalization comes first, there is one after the last layer too.
func (c *Checkpoint) bart(f bartFields, body *transformer.Loader, shared *transformer.Embedding, e, d block.Embedder, normFirst bool) (*Model, error) {
	encoderLayer, decoderLayer, err := f.layers(c, normFirst)
	if err != nil {
		return nil, err
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers = f.Vocab, f.Dim, f.EncoderLayers
	if c.Config.DecoderStart < 0 {
		c.Config.DecoderStart = 2 // that of BART and M2M-100 in transformers
	}
	if f.ScaleEmbedding && !c.Loader.Failed() {
		e.Tokens.Scale = float32(math.Sqrt(float64(f.Dim)))
		d.Tokens.Scale = e.Tokens.Scale
	}
	lm := &block.Decoder{Embedder: d}
	for i := 0; i < f.DecoderLayers && !c.Loader.Stopped(); i++ {
		lm.Add(body.At("decoder."+bartNames.Layers, i).Layer(decoderLayer, bartNames.Layer), 0)
	}
	if normFirst {
		norm := bartNorm
		norm.Shape = []int{f.Dim}
		lm.Norm = body.At("decoder.layer_norm.").Norm(norm)
	}
	encoder := &block.TextEncoder{
		Embedder: e,
		Layers:   body.At("encoder.").Stack(transformer.StackConfig{Layers: f.EncoderLayers, Layer: encoderLayer, FinalNorm: normFirst}, bartNames),
	}
	if c.Config.Head() == "ForSequenceClassification" && c.Config.ModelType == "bart" {
		end := struct {
			EOS int `json:"eos_token_id" min:"0"`
		}{2}
		if err := c.doc.Decode(&end); err != nil {
			return nil, err
		}
		l := c.Loader.At("classification_head.")
		return &Model{
			Encoder: &bartEncoder{encoder, lm, c.Config.DecoderStart},
			Heads: Heads{HeadClassifier: &block.Head{
				Pool: block.PoolAt(block.LastOf(end.EOS)), Dense: l.At("dense.").Linear(f.Dim, f.Dim, true), Act: block.Tanh,
				Last: c.classify(l.At("out_proj."), f.Dim, true),
			}},
		}, nil
	}
	return &Model{LM: lm, Encoder: encoder}, c.bartHead(lm, shared, f.Tied)
}

// bartEncoder is encoder and decoder as one: the hidden states after the decoder, which gets the
// same text, one place later, and attends to the encoder.
type bartEncoder struct {
	*block.TextEncoder
	decoder *block.Decoder
	start   int // token in front of the decoder's text
}

// BothWays is not that of the encoder alone.
func (b *bartEncoder) BothWays() bool { return false }

func (b *bartEncoder) Encode(ws *Workspace, dst []float32, in Tokens) error {
	defer ws.Release(ws.Mark())
	memory := &Memory{X: ws.Alloc(len(dst)), Batch: in.Batch}      // [rows, D]
	if err := b.TextEncoder.Encode(ws, memory.X, in); err != nil { // [rows, D]
		return err
	}
	shifted := make([]int, len(in.IDs))
	for i := range in.Batch.Len() {
		if from, to := in.Batch.Start(i), in.Batch.Start(i+1); from < to {
			shifted[from] = b.start
			copy(shifted[from+1:to], in.IDs[from:])
		}
	}
	return b.decoder.Hidden(ws, dst, shifted, in.Batch, memory, nil) // [rows, D]
}

// bartHead loads the decoder's head and, if there is one, its bias. Checkpoints of the model
// without head are used with the embedding as head.
func (c *Checkpoint) bartHead(d *block.Decoder, shared *transformer.Embedding, tied bool) error {
	switch c.Config.Head() {
	case "ForConditionalGeneration", "MTModel":
	case "Model":
		tied = tied || !c.Loader.Has("lm_head.weight")
	default:
		return c.unknownHead()
	}
	if head := c.Loader.At("lm_head."); tied {
		d.Head = head.Tied(shared, nil)
	} else {
		d.Head = head.Linear(d.Tokens.Dim, d.Tokens.Vocab, false)
	}
	if c.Loader.Has("final_logits_bias") && d.Head != nil {
		d.Head.Bias = c.Loader.Tensor("final_logits_bias", 1, d.Tokens.Vocab)
	}
	return nil
}

// bartBody returns the loader of what is not head.
func (c *Checkpoint) bartBody() *transformer.Loader {
	return c.Loader.Under("shared.weight", "model.", "")
}

// tables returns the embeddings of encoder and decoder: those that a checkpoint has for each, or
// the one that they share.
func (f *bartFields) tables(body *transformer.Loader) (shared, encoder, decoder *transformer.Embedding) {
	e, d := body.At("encoder.embed_tokens."), body.At("decoder.embed_tokens.")
	if !f.Tied && e.Has("weight") && d.Has("weight") {
		body.Ignore("shared.weight")
		encoder, decoder = e.Embedding(f.Vocab, f.Dim), d.Embedding(f.Vocab, f.Dim)
		return decoder, encoder, decoder
	}
	shared = body.At("shared.").Embedding(f.Vocab, f.Dim)
	return shared, e.TiedEmbedding(shared), d.TiedEmbedding(shared)
}

func newBART(c *Checkpoint) (*Model, error) {
	config := bartConfig{bartFields: bartDefaults, MaxPositions: 1024, Pad: 1}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	body := c.bartBody()
	shared, source, target := config.tables(body)
	embed := func(l *transformer.Loader, tokens *transformer.Embedding) block.Embedder {
		const first = 2 // the table has two more rows in front
		norm := bartNorm
		norm.Shape = []int{config.Dim}
		return block.Embedder{
			Tokens: tokens, Positions: l.At("embed_positions.").Embedding(config.MaxPositions+first, config.Dim), First: first,
			EmbedNorm: l.At("layernorm_embedding.").Norm(norm),
		}
	}
	c.Config.MaxLength = config.MaxPositions
	return c.bart(config.bartFields, body, shared, embed(body.At("encoder."), source), embed(body.At("decoder."), target), c.Config.ModelType == "mbart")
}

func newMarian(c *Checkpoint) (*Model, error) {
	config := marianConfig{bartConfig: bartConfig{bartFields: bartDefaults, MaxPositions: 1024}, Shared: true}
	config.Vocab = 58101
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if config.DecoderVocab == 0 {
		config.DecoderVocab = config.Vocab
	}
	body := c.bartBody()
	embed := func(l *transformer.Loader, tokens *transformer.Embedding) block.Embedder {
		if l.Has("embed_positions.weight") {
			return block.Embedder{Tokens: tokens, Positions: l.At("embed_positions.").Embedding(config.MaxPositions, config.Dim)}
		}
		return block.Embedder{Tokens: tokens, Waves: &block.Sinusoids{Length: config.MaxPositions, Ratio: elementary.Pow(10000, -2/float64(config.Dim))}}
	}
	e, d := body.At("encoder."), body.At("decoder.")
	var shared, source, target *transformer.Embedding
	if config.Shared {
		shared, source, target = config.tables(body)
	} else {
		source, target = e.At("embed_tokens.").Embedding(config.Vocab, config.Dim), d.At("embed_tokens.").Embedding(config.DecoderVocab, config.Dim)
		shared = target
	}
	c.Config.MaxLength = config.MaxPositions
	return c.bart(config.bartFields, body, shared, embed(e, source), embed(d, target), false)
}

func newM2M100(c *Checkpoint) (*Model, error) {
	config := bartConfig{bartFields: bartDefaults, MaxPositions: 1024, Pad: 1}
	config.Vocab, config.Activation, config.ScaleEmbedding = 128112, "relu", true
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if config.Dim < 4 {
		return nil, c.doc.Errorf("d_model", "want at least 4")
	}
	body := c.bartBody()
	body.Ignore("*embed_positions.weights") // what is computed here
	first := config.Pad + 1
	shared, source, target := config.tables(body)
	e := block.Embedder{
		Tokens: source,
		Waves:  &block.Sinusoids{Length: config.MaxPositions + first, Ratio: elementary.Pow(10000, -1/float64(config.Dim/2-1))}, First: first, Padded: true,
	}
	d := e
	d.Tokens = target
	c.Config.MaxLength = config.MaxPositions
	return c.bart(config.bartFields, body, shared, e, d, true)
}
