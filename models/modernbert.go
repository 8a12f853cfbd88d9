package models

import (
	"errors"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// ModernBERT: Warner et al., 2024, "Smarter, Better, Faster, Longer: A Modern Bidirectional
// Encoder". Rotary positions, gated feed-forward networks, and layers that see all tokens or only
// those nearby.

func init() {
	Register(newModernBERT, "modernbert")
	registerGGUF("modern-bert", llamacpp.Architecture{ModelType: "modernbert", Encoder: true, Epsilon: "norm_eps", Names: modernGGUFNames, Read: readModernGGUF})
}

type modernbertConfig struct {
	Vocab        int      `json:"vocab_size"`
	Dim          int      `json:"hidden_size"`
	Layers       int      `json:"num_hidden_layers"`
	Heads        int      `json:"num_attention_heads"`
	Hidden       int      `json:"intermediate_size"`
	Activation   string   `json:"hidden_activation"`
	MaxPositions int      `json:"max_position_embeddings"`
	Eps          float32  `json:"norm_eps"`
	NormBias     bool     `json:"norm_bias"`
	Bias         bool     `json:"attention_bias"`
	FeedBias     bool     `json:"mlp_bias"`
	Window       int      `json:"local_attention" min:"0"` // both sides together
	GlobalEvery  int      `json:"global_attn_every_n_layers"`
	GlobalTheta  float64  `json:"global_rope_theta" min:"1"`
	LocalTheta   float64  `json:"local_rope_theta" min:"1"`
	LayerTypes   []string `json:"layer_types"`
	Sliding      int      `json:"sliding_window" min:"0"` // half of Window, before which it goes

	// With layer_types in newer configurations; see rotaryOfKind.
	RopeParameters any `json:"rope_parameters"`
	RopeScaling    any `json:"rope_scaling"`

	Pooling        string `json:"classifier_pooling"`
	HeadBias       bool   `json:"classifier_bias"`
	HeadActivation string `json:"classifier_activation"`
	DecoderBias    bool   `json:"decoder_bias"`
	Tied           bool   `json:"tie_word_embeddings"`
}

// read decodes and completes the configuration.
func (config *modernbertConfig) read(d configuration.Document) error {
	*config = modernbertConfig{
		Vocab: 50368, Dim: 768, Layers: 22, Heads: 12, Hidden: 1152, Activation: "gelu", MaxPositions: 8192, Eps: 1e-5,
		Window: 128, GlobalEvery: 3, GlobalTheta: 160000, LocalTheta: 10000,
		Pooling: "cls", HeadActivation: "gelu", DecoderBias: true, Tied: true,
	}
	if err := d.Decode(config); err != nil {
		return err
	}
	if d.Has("sliding_window") {
		config.Window = 2 * config.Sliding
	}
	switch {
	case config.Dim%config.Heads != 0:
		return d.Errorf("num_attention_heads", "does not divide hidden_size = %d", config.Dim)
	case config.Pooling != "cls" && config.Pooling != "mean":
		return d.Errorf("classifier_pooling", "want cls or mean")
	}
	if len(config.LayerTypes) == 0 {
		return nil
	}
	return d.LayerTypes(config.LayerTypes, config.Layers)
}

// global reports whether a layer sees all tokens.
func (config *modernbertConfig) global(layer int) bool {
	if len(config.LayerTypes) > 0 {
		return config.LayerTypes[layer] == configuration.FullAttention
	}
	return layer%config.GlobalEvery == 0
}

type modernbert struct {
	block.Embedder
	layers    []modernbertLayer
	finalNorm *transformer.Norm
}

type modernbertLayer struct {
	attentionNorm *transformer.Norm // nil in the first layer
	attention     *transformer.MultiHeadAttention
	mask          *transformer.Mask
	feedNorm      *transformer.Norm
	feed          *transformer.FeedForward
}

func newModernBERT(c *Checkpoint) (*Model, error) {
	var config modernbertConfig
	if err := config.read(c.doc); err != nil {
		return nil, err
	}
	activation, sharpness, err := c.doc.FeedActivation("hidden_activation", config.Activation)
	if err != nil {
		return nil, err
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = config.Vocab, config.Dim, config.Layers, config.MaxPositions
	norm := transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps, NoBias: !config.NormBias}
	feed := transformer.FeedForwardConfig{Dim: config.Dim, Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Gated: true, Bias: config.FeedBias}
	local := transformer.LocalWindow(config.Window/2, config.Window/2)

	rotary := map[bool]*transformer.RotaryConfig{}
	for global, kind := range map[bool]string{true: configuration.FullAttention, false: configuration.SlidingAttention} {
		theta := map[bool]float64{true: config.GlobalTheta, false: config.LocalTheta}[global]
		if rotary[global], err = c.doc.RotaryOfKind(kind, theta, true, config.Dim/config.Heads, config.MaxPositions); err != nil {
			return nil, err
		}
		if rotary[global].FrequenciesAt != nil {
			return nil, c.doc.Errorf("rope_parameters", "%s: not supported by this model_type", kind)
		}
	}

	body := c.Loader.Under("embeddings.tok_embeddings.weight", "model.", "")
	m := &modernbert{
		Embedder: block.Embedder{
			Tokens:    body.At("embeddings.tok_embeddings.").Embedding(config.Vocab, config.Dim),
			EmbedNorm: body.At("embeddings.norm.").Norm(norm),
		},
		finalNorm: body.At("final_norm.").Norm(norm),
	}
	for i := 0; i < config.Layers && !c.Loader.Stopped(); i++ {
		l := body.At("layers.%d.", i)
		layer := modernbertLayer{mask: local}
		if config.global(i) {
			layer.mask = nil
		}
		if i > 0 {
			layer.attentionNorm = l.At("attn_norm.").Norm(norm)
		}
		layer.attention = l.At("attn.").Attention(transformer.AttentionConfig{
			Dim: config.Dim, Heads: config.Heads, Bias: config.Bias, OutBias: config.Bias, Rotary: rotary[config.global(i)],
		}, transformer.AttentionNames{Packed: "Wqkv.", Out: "Wo."})
		layer.feedNorm = l.At("mlp_norm.").Norm(norm)
		layer.feed = l.At("mlp.").FeedForward(feed, transformer.FeedForwardNames{Packed: "Wi.", Down: "Wo."})
		m.layers = append(m.layers, layer)
	}
	return config.heads(c, &Model{Encoder: m}, m.Tokens, norm)
}

// heads adds the checkpoint's heads.
func (config *modernbertConfig) heads(c *Checkpoint, m *Model, words *transformer.Embedding, norm transformer.NormConfig) (*Model, error) {
	l := c.Loader
	name := c.Config.Head()
	if name == "Model" {
		return m, nil
	}
	activation, err := c.doc.Activation("classifier_activation", config.HeadActivation)
	if err != nil {
		return nil, err
	}
	h := &block.Head{
		Dense: l.At("head.dense.").Linear(config.Dim, config.Dim, config.HeadBias), Act: block.Activate(activation),
		Norm: l.At("head.norm.").Norm(norm),
	}
	switch name {
	case "ForMaskedLM":
		m.Heads[HeadMaskedLM] = h
		bias := l.Optional(config.DecoderBias, "decoder.bias", config.Vocab)
		if config.Tied {
			h.Last = l.At("decoder.").Tied(words, bias)
		} else {
			h.Last = l.LinearOf(config.Dim, config.Vocab, l.Tensor("decoder.weight", config.Vocab, config.Dim), bias)
		}
		return m, nil
	case "ForSequenceClassification":
		m.Heads[HeadClassifier] = h
		h.Pool = block.Poolings[config.Pooling]
	case "ForTokenClassification":
		m.Heads[HeadTokenClassifier] = h
	case "ForQuestionAnswering":
		h.Last = l.At("classifier.").Linear(config.Dim, 2, true)
		m.Heads[HeadAnswer] = h
		return m, nil
	default:
		return nil, c.unknownHead()
	}
	h.Last = c.classify(l.At("classifier."), config.Dim, true)
	return m, nil
}

// BothWays implements textEncoder.
func (m *modernbert) BothWays() bool { return true }

// HidesRest implements textEncoder.
func (m *modernbert) HidesRest() {}

func (m *modernbert) Encode(ws *Workspace, dst []float32, in Tokens) error {
	if err := m.Embed(ws, dst, in, nil); err != nil { // [rows, D]
		return err
	}
	for _, l := range m.layers {
		if err := l.forward(ws, dst, in); err != nil { // [rows, D]
			return err
		}
	}
	return m.finalNorm.Forward(ws, dst, dst) // [rows, D]
}

// forward replaces x by the layer's output.
func (l *modernbertLayer) forward(ws *Workspace, x []float32, in Tokens) error {
	defer ws.Release(ws.Mark())
	y := ws.Alloc(len(x)) // [rows, D]
	if l.attentionNorm == nil {
		copy(y, x)
	} else if err := l.attentionNorm.Forward(ws, y, x); err != nil { // y = norm(x)  [rows, D]
		return err
	}
	if err := l.attention.Forward(ws, x, transformer.AttentionInput{ // x += attention(y)  [rows, D]
		Query: y, Batch: in.Batch, Mask: l.mask.And(block.Visible(in)), Residual: x,
	}, nil); err != nil {
		return err
	}
	if err := l.feedNorm.Forward(ws, y, x); err != nil { // y = norm(x)  [rows, D]
		return err
	}
	return l.feed.Forward(ws, x, y, x) // x += down(activation(gate(y)) * up(y))  [rows, D]
}

// readModernGGUF reads what ModernBERT has: layers that see all tokens, the first and then every so
// many, and layers with a window, whose positions have a base of their own.
func readModernGGUF(r *llamacpp.Reader) {
	r.Integer("local_attention", "attention.sliding_window", true)
	r.Number("global_rope_theta", "rope.freq_base", true)
	r.Number("local_rope_theta", "rope.freq_base_swa", false)
	const every = "attention.sliding_window_pattern"
	value, _ := r.File.Value(r.Key(every))
	if kinds, ok := value.([]bool); ok { // whether each layer has a window
		r.Fields["layer_types"] = modernGGUFWindows(kinds)
	} else {
		r.Integer("global_attn_every_n_layers", every, false)
	}
	if act, err := r.File.Text(r.Key("hidden_activation")); err == nil {
		r.Fields["hidden_activation"] = act
	} else if !errors.Is(err, fault.ErrAbsent) {
		r.Note(err)
	}
	if kind, err := r.File.Text(r.Key("rope.scaling.type")); err == nil && kind != "none" {
		r.Note(configuration.KeyError(r.Key("rope.scaling.type"), kind, "not supported"))
	}
}

// modernGGUFWindows returns the types of the layers, some of which have a window.
func modernGGUFWindows(kinds []bool) []string {
	types := make([]string, len(kinds))
	for i, window := range kinds {
		if types[i] = configuration.FullAttention; window {
			types[i] = configuration.SlidingAttention
		}
	}
	return types
}

// modernGGUFNames returns llama.cpp's names of ModernBERT's tensors.
func modernGGUFNames(r *llamacpp.Reader) func(name string) string {
	return llamacpp.Names("layers.", map[string]string{
		"attn.Wqkv": "attn_qkv", "attn.Wo": "attn_output", "attn_norm": "attn_norm", "mlp.Wi": "ffn_up", "mlp.Wo": "ffn_down", "mlp_norm": "ffn_norm",
	}, map[string]string{"embeddings.tok_embeddings": "token_embd", "embeddings.norm": "token_embd_norm", "final_norm": "output_norm"})
}
