package models

import (
	"math"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// wav2vec 2.0: Baevski et al., 2020, "wav2vec 2.0: A Framework for Self-Supervised Learning of
// Speech Representations". Convolutions over the samples themselves, then an encoder whose
// positions are a convolution too. Characters are read off frame by frame: Graves et al., 2006,
// "Connectionist Temporal Classification".

func init() { Register(newWav2Vec2, "wav2vec2") }

type wav2vec2Config struct {
	Vocab       int     `json:"vocab_size"`
	Dim         int     `json:"hidden_size"`
	Layers      int     `json:"num_hidden_layers"`
	Heads       int     `json:"num_attention_heads"`
	Hidden      int     `json:"intermediate_size"`
	Activation  string  `json:"hidden_act"`
	Eps         float32 `json:"layer_norm_eps"`
	NormFirst   bool    `json:"do_stable_layer_norm"`
	Norm        string  `json:"feat_extract_norm"`
	Feature     string  `json:"feat_extract_activation"`
	Dims        []int   `json:"conv_dim"`
	Strides     []int   `json:"conv_stride"`
	Kernels     []int   `json:"conv_kernel"`
	Bias        bool    `json:"conv_bias"`
	Positions   int     `json:"num_conv_pos_embeddings"` // steps of their convolution
	Groups      int     `json:"num_conv_pos_embedding_groups"`
	Adapter     bool    `json:"add_adapter"`
	AdapterDims *int    `json:"adapter_attn_dim" min:"0"`
}

var wav2vec2Layers = transformer.StackNames{Layers: "layers.%d.", Norm: "layer_norm.", Layer: transformer.LayerNames{
	Self: "attention.", SelfNorm: "layer_norm.", FeedNorm: "final_layer_norm.",
	Attention: transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "out_proj."},
	Feed:      transformer.FeedForwardNames{Up: "feed_forward.intermediate_dense.", Down: "feed_forward.output_dense."},
}}

func newWav2Vec2(c *Checkpoint) (*Model, error) {
	config := wav2vec2Config{
		Vocab: 32, Dim: 768, Layers: 12, Heads: 12, Hidden: 3072, Activation: "gelu", Eps: 1e-5, Norm: "group", Feature: "gelu",
		Dims: []int{512, 512, 512, 512, 512, 512, 512}, Strides: []int{5, 2, 2, 2, 2, 2, 2}, Kernels: []int{10, 3, 3, 3, 3, 2, 2}, Positions: 128, Groups: 16,
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if err := config.check(c.doc); err != nil {
		return nil, err
	}
	activation, sharpness, err := c.doc.FeedActivation("hidden_act", config.Activation)
	if err != nil {
		return nil, err
	}
	feature, err := c.doc.Activation("feat_extract_activation", config.Feature)
	if err != nil {
		return nil, err
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers = config.Vocab, config.Dim, config.Layers
	body := c.Loader.Under("feature_projection.projection.weight", "wav2vec2.", "")
	body.Ignore("masked_spec_embed") // of training
	norm := transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps}
	last := config.Dims[len(config.Dims)-1]
	e, features := body.At("encoder."), body.At("feature_projection.")
	a := &waveEncoder{
		act:       block.Activate(feature),
		inNorm:    features.At("layer_norm.").Norm(transformer.NormConfig{Shape: []int{last}, Eps: config.Eps}),
		in:        features.At("projection.").Linear(last, config.Dim, true),
		positions: config.loadPositions(e.At("pos_conv_embed.conv.")),
	}
	config.loadConvolutions(a, body.At("feature_extractor.conv_layers."))
	if !config.NormFirst {
		a.norm = e.At("layer_norm.").Norm(norm)
	}
	a.layers = e.Stack(transformer.StackConfig{Layers: config.Layers, FinalNorm: config.NormFirst, Layer: transformer.LayerConfig{
		Self:        transformer.AttentionConfig{Dim: config.Dim, Heads: config.Heads, Bias: true, OutBias: true},
		FeedForward: transformer.FeedForwardConfig{Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Bias: true},
		Norm:        norm, NormFirst: config.NormFirst,
	}}, wav2vec2Layers)
	m := &Model{Audio: a}
	switch c.Config.Head() {
	case "Model":
	case "ForCTC":
		m.Heads[HeadCTC] = &block.Head{Last: c.Loader.At("lm_head.").Linear(config.Dim, config.Vocab, true)}
	default:
		return nil, c.unknownHead()
	}
	return m, nil
}

// check returns the error of fields that contradict each other, or are not supported.
func (config *wav2vec2Config) check(d configuration.Document) error {
	switch {
	case config.Adapter:
		return d.Errorf("add_adapter", "not supported by this model_type")
	case config.AdapterDims != nil:
		return d.Errorf("adapter_attn_dim", "not supported by this model_type")
	case config.Norm != "group" && config.Norm != "layer":
		return d.Errorf("feat_extract_norm", "want group or layer")
	case config.Dim%config.Heads != 0:
		return d.Errorf("num_attention_heads", "does not divide hidden_size = %d", config.Dim)
	case config.Dim%config.Groups != 0:
		return d.Errorf("num_conv_pos_embedding_groups", "does not divide hidden_size = %d", config.Dim)
	case config.Positions > 1<<16:
		return d.Errorf("num_conv_pos_embeddings", "want at most %d", 1<<16)
	case len(config.Dims) == 0 || len(config.Dims) > 64:
		return d.Errorf("conv_dim", "want 1 to 64 layers")
	case len(config.Strides) != len(config.Dims):
		return d.Errorf("conv_stride", "conv_dim has %d layers", len(config.Dims))
	case len(config.Kernels) != len(config.Dims):
		return d.Errorf("conv_kernel", "conv_dim has %d layers", len(config.Dims))
	}
	for field, list := range map[string][]int{"conv_dim": config.Dims, "conv_stride": config.Strides, "conv_kernel": config.Kernels} {
		for _, n := range list {
			if n < 1 || n > 1<<16 {
				return d.Errorf(field, "want numbers from 1 to %d", 1<<16)
			}
		}
	}
	return nil
}

// loadConvolutions adds the convolutions over samples.
func (config *wav2vec2Config) loadConvolutions(a *waveEncoder, l *transformer.Loader) {
	in := 1
	for i, out := range config.Dims {
		at := l.At("%d.", i)
		a.convolutions = append(a.convolutions, block.LoadConvolution(at.At("conv."), in, out, config.Kernels[i], config.Strides[i], 0, config.Bias))
		in = out
		switch {
		case config.Norm == "layer":
			a.convolutionNorms = append(a.convolutionNorms, at.At("layer_norm.").Norm(transformer.NormConfig{Shape: []int{out}, Eps: waveEps}))
		case i == 0:
			a.channels = &channelNorm{at.Tensor("layer_norm.weight", out), at.Tensor("layer_norm.bias", out)}
		}
	}
}

// loadPositions returns the convolution of each group of columns, whose weight, [out, in, steps],
// is stored as a direction, and a length for each step (Salimans and Kingma, 2016, "Weight
// Normalization").
func (config *wav2vec2Config) loadPositions(l *transformer.Loader) []*block.Convolution {
	lengths, directions := "weight_g", "weight_v"
	if l.Has("parametrizations.weight.original0") {
		lengths, directions = "parametrizations.weight.original0", "parametrizations.weight.original1"
	}
	width, steps := config.Dim/config.Groups, config.Positions
	g, v, bias := l.Tensor(lengths, 1, 1, steps), l.Tensor(directions, config.Dim, width, steps), l.Tensor("bias", config.Dim)
	groups := make([]*block.Convolution, config.Groups)
	if g == nil || v == nil || bias == nil {
		return groups
	}
	squares := make([]float64, steps)
	for i, x := range v {
		squares[i%steps] += float64(x) * float64(x)
	}
	weight := make([]float32, len(v)) // [D, width, steps]
	for i, x := range v {
		weight[i] = float32(float64(g[i%steps]) * float64(x) / math.Sqrt(squares[i%steps]))
	}
	size := width * width * steps
	for i := range groups {
		w := block.StepsFirst(weight[i*size:(i+1)*size], width, steps)
		groups[i] = &block.Convolution{In: width, Steps: steps, Stride: 1, Pad: steps / 2, Linear: l.LinearOf(steps*width, width, w, bias[i*width:(i+1)*width])}
	}
	return groups
}

// waveEncoder turns samples into hidden states. It implements AudioEncoder, with a frame for each
// sample.
type waveEncoder struct {
	convolutions
	convolutionNorms []*transformer.Norm // of each; nil: channels normalizes what the first gives
	channels         *channelNorm
	act              func(t kernels.Threads, x []float32)
	inNorm, norm     *transformer.Norm // norm is nil where layers normalize first
	in               *transformer.Linear
	positions        []*block.Convolution // of groups of columns
	layers           *transformer.Stack
}

func (a *waveEncoder) Dim() int      { return a.in.Out }
func (a *waveEncoder) Features() int { return 1 }

func (a *waveEncoder) EncodeAudio(ws *Workspace, dst, samples []float32, sounds, frames int) error {
	rows := a.Rows(frames)
	if err := eachSound(dst, samples, sounds, frames, rows, a.Dim(), func(dst, samples []float32) error { return a.enter(ws, dst, samples) }); err != nil {
		return err
	}
	if a.norm != nil {
		if err := a.norm.Forward(ws, dst, dst); err != nil { // [sounds, rows, D]
			return err
		}
	}
	return a.layers.Forward(ws, dst, transformer.LayerInput{X: dst, Batch: transformer.Uniform(sounds, rows)}, nil) // [sounds, rows, D]
}

// enter sets dst, [rows, D], to what enters the layers for the samples of one sound.
func (a *waveEncoder) enter(ws *Workspace, dst, samples []float32) error {
	defer ws.Release(ws.Mark())
	x := samples // [n, channels]
	for i, c := range a.convolutions {
		y := ws.Alloc(c.Rows(len(x)/c.In) * c.Linear.Out) // [rows, channels]
		if err := c.Forward(ws, y, x); err != nil {
			return err
		}
		switch {
		case a.convolutionNorms != nil:
			if err := a.convolutionNorms[i].Forward(ws, y, y); err != nil {
				return err
			}
		case i == 0:
			a.channels.forward(y)
		}
		a.act(ws.Threads, y)
		x = y
	}
	positions := ws.Alloc(len(dst))                    // [rows, D]
	if err := a.inNorm.Forward(ws, x, x); err != nil { // [rows, channels]
		return err
	}
	if err := a.in.Forward(ws, dst, x); err != nil { // [rows, D]
		return err
	}
	if err := a.place(ws, positions, dst); err != nil { // [rows, D]
		return err
	}
	a.act(ws.Threads, positions)
	ws.Threads.Add(dst, dst, positions) // [rows, D]
	return nil
}

// place sets dst, [rows, D], to the convolution of each group of columns of x.
func (a *waveEncoder) place(ws *Workspace, dst, x []float32) error {
	defer ws.Release(ws.Mark())
	dim, width := a.Dim(), a.positions[0].In
	in, out := ws.Alloc(len(x)/dim*width), ws.Alloc(len(x)/dim*width) // [rows, width]
	for g, c := range a.positions {
		for from, to := g*width, 0; to < len(in); from, to = from+dim, to+width {
			copy(in[to:to+width], x[from:])
		}
		if err := c.Forward(ws, out, in); err != nil { // without the last row where steps are even
			return err
		}
		for to, from := g*width, 0; from < len(out); to, from = to+dim, from+width {
			copy(dst[to:to+width], out[from:])
		}
	}
	return nil
}
