package classic

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// TransformerConfig describes an encoder-decoder.
type TransformerConfig struct {
	Encoder, Decoder transformer.StackConfig
}

// TorchConfig is the arguments of torch.nn.Transformer, in parentheses.
type TorchConfig struct {
	Dim           int // (d_model)
	Heads         int // (nhead)
	EncoderLayers int // (num_encoder_layers)
	DecoderLayers int // (num_decoder_layers)
	FeedForward   int // (dim_feedforward)
	Activation    kernels.Activation
	NormFirst     bool // (norm_first)
}

// Transformer returns the configuration with PyTorch's biases, final normalizations and eps of
// 1e-5.
func (c TorchConfig) Transformer() TransformerConfig {
	attention := transformer.AttentionConfig{Dim: c.Dim, Heads: c.Heads, Bias: true, OutBias: true}
	layer := transformer.LayerConfig{
		Self:        attention,
		FeedForward: transformer.FeedForwardConfig{Hidden: c.FeedForward, Activation: c.Activation, Bias: true},
		Norm:        transformer.NormConfig{Eps: 1e-5},
		NormFirst:   c.NormFirst,
	}
	decoder := layer
	decoder.Cross = &attention
	return TransformerConfig{
		Encoder: transformer.StackConfig{Layers: c.EncoderLayers, Layer: layer, FinalNorm: true},
		Decoder: transformer.StackConfig{Layers: c.DecoderLayers, Layer: decoder, FinalNorm: true},
	}
}

// D2LConfig is the arguments of d2l's TransformerEncoder and TransformerDecoder, in parentheses.
type D2LConfig struct {
	Dim         int  // (num_hiddens)
	Heads       int  // (num_heads)
	Layers      int  // (num_blks)
	FeedForward int  // (ffn_num_hiddens)
	Bias        bool // in the attention (use_bias)
}

// Transformer returns the configuration with d2l's post-norm and ReLU, without final normalization.
func (c D2LConfig) Transformer() TransformerConfig {
	t := TorchConfig{
		Dim: c.Dim, Heads: c.Heads, EncoderLayers: c.Layers, DecoderLayers: c.Layers, FeedForward: c.FeedForward, Activation: kernels.ActReLU,
	}.Transformer()
	for _, s := range []*transformer.StackConfig{&t.Encoder, &t.Decoder} {
		s.FinalNorm = false
		s.Layer.Self.Bias, s.Layer.Self.OutBias = c.Bias, c.Bias
	}
	cross := t.Encoder.Layer.Self
	t.Decoder.Layer.Cross = &cross
	return t
}

// TransformerNames says what an ecosystem calls the parts of a transformer.
type TransformerNames struct {
	Encoder                    string // prefix of the encoder
	Decoder                    string
	EncoderNames, DecoderNames transformer.StackNames
}

// TorchTransformer returns the names of torch.nn.Transformer.
func TorchTransformer() TransformerNames {
	return TransformerNames{"encoder.", "decoder.", TorchEncoder(), TorchDecoder()}
}

// D2LTransformer returns the names of d2l's EncoderDecoder.
func D2LTransformer() TransformerNames {
	return TransformerNames{"encoder.", "decoder.", D2LEncoder(), D2LDecoder()}
}

// check returns an error unless the decoder attends to what the encoder gives.
func (c TransformerConfig) check() error {
	cross, dim := c.Decoder.Layer.Cross, c.Encoder.Layer.Self.Dim
	if cross == nil {
		return check.Errorf(fault.ErrConfig, "transformer: decoder without cross-attention")
	}
	for _, width := range []int{cross.KeyWidth, cross.ValueWidth} {
		if width == 0 {
			width = cross.Dim
		}
		if width != dim {
			return check.Errorf(fault.ErrConfig, "transformer: decoder attends to width %d, the encoder's is %d", width, dim)
		}
	}
	return nil
}

// Transformer is an encoder and a decoder that attends to its output, without embeddings, as
// torch.nn.Transformer.
type Transformer struct {
	Encoder, Decoder *transformer.Stack
}

// NewTransformer takes the weights with the given names under prefix.
func NewTransformer(c TransformerConfig, names TransformerNames, w transformer.Weights, prefix string) (*Transformer, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	l := transformer.NewLoader(w).At(prefix)
	return finish(load(l, c, names), l)
}

func load(l *transformer.Loader, c TransformerConfig, names TransformerNames) *Transformer {
	return &Transformer{
		Encoder: l.At(names.Encoder).Stack(c.Encoder, names.EncoderNames),
		Decoder: l.At(names.Decoder).Stack(c.Decoder, names.DecoderNames),
	}
}

// Forward sets dst, [rows of target, Dim], to the decoder's output for target, given source.
// source.Mask and target.Mask are those of self-attention; target.MemoryMask is that of
// cross-attention. target's memory is the encoder's output and need not be set.
func (t *Transformer) Forward(ws *transformer.Workspace, dst []float32, source, target transformer.LayerInput) error {
	if ws == nil {
		return check.Errorf(fault.ErrConfig, "workspace is nil; pass new(Workspace)")
	}
	defer ws.Release(ws.Mark())
	memory := ws.Alloc(source.Batch.Rows() * t.Encoder.Dim)            // [source rows, D]
	if err := t.Encoder.Forward(ws, memory, source, nil); err != nil { // [rows of source, D]
		return err
	}
	target.Memory, target.MemoryBatch = memory, source.Batch
	return t.Decoder.Forward(ws, dst, target, nil) // [rows of target, D]
}
