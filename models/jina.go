package models

import (
	"math/bits"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Jina's encoders. Version 2: Günther et al., 2023, "Jina Embeddings 2: 8192-Token General-Purpose
// Text Embeddings for Long Documents": BERT with ALiBi for positions and gated feed-forward
// networks, published as BERT with code of its own. Version 3: Sturua et al., 2024,
// "jina-embeddings-v3: Multilingual Embeddings With Task LoRA": XLM-RoBERTa with rotary positions;
// its tasks are adapters of peft, see Options.Adapters. Version 5, of 2026: EuroBERT or Qwen 3 with
// an adapter for each task beside the weights, and vectors of the last token; see Adapter.Task.

func init() {
	Register(newJina3, "jina_embeddings_v3")
	Register(newJina5, "jina_embeddings_v5")
	registerGGUF("jina-bert-v2", llamacpp.Architecture{ModelType: "bert", Encoder: true, Epsilon: "layer_norm_eps", Names: bertGGUFNames, Read: func(r *llamacpp.Reader) {
		r.Types()
		r.Fields["hidden_act"], r.Fields["position_embedding_type"], r.Fields["feed_forward_type"] = "gelu", "alibi", "geglu"
	}})
	registerGGUF("jina-bert-v3", llamacpp.Architecture{ModelType: "jina_embeddings_v3", Encoder: true, Epsilon: "layer_norm_eps", Names: jina3GGUFNames, Read: func(r *llamacpp.Reader) {
		r.Types()
		r.Fields["hidden_act"], r.Fields["rope_theta"] = "gelu", 10000
		r.Number("rope_theta", "rope.freq_base", false)
		r.Rope()
	}})
}

// jina2Fields are fields that BERT has not.
type jina2Fields struct {
	Feed   string `json:"feed_forward_type"`
	Pooler string `json:"emb_pooler"` // of the code beside the weights; modules.json says it too
}

// newJina2 returns the model of a configuration of BERT whose positions are ALiBi's.
func (c *Checkpoint) newJina2(config bertConfig) (*Model, error) {
	hub := jina2Fields{Feed: "original"}
	if err := c.doc.Decode(&hub); err != nil {
		return nil, err
	}
	activation, ok := map[string]kernels.Activation{"geglu": kernels.ActGELU, "reglu": kernels.ActReLU}[hub.Feed]
	if !ok {
		return nil, c.doc.Errorf("feed_forward_type", "want geglu or reglu")
	}
	plain := config
	plain.Positions = "absolute" // for which no attention has weights
	layer, err := plain.layer(c.doc)
	if err != nil {
		return nil, err
	}
	layer.Self.MaxPositions = 0
	feed := transformer.FeedForwardConfig{Dim: config.Dim, Hidden: config.Hidden, Activation: activation, Gated: true, OutBias: true}
	layer.Feed = func(l *transformer.Loader) transformer.Feed { return jina2Feed(l, feed) }
	body := c.Loader.Under("embeddings.word_embeddings.weight", "bert.", "")
	b := &block.TextEncoder{Added: transformer.ALiBi(alibiSlopes(config.Heads)...)}
	if b.Embedder, err = c.bertEmbedder(config, body.At("embeddings."), config.Dim, 0); err != nil {
		return nil, err
	}
	names := bertLayers
	names.Layer.FeedNorm = "mlp.layernorm."
	b.Layers = body.Stack(transformer.StackConfig{Layers: config.Layers, Layer: layer}, names)
	return c.bertHeads(&Model{Encoder: b}, body, b.Tokens, config)
}

// jina2Feed returns the feed-forward network of a layer. Only older GGUF files hold its gate apart.
func jina2Feed(l *transformer.Loader, config transformer.FeedForwardConfig) transformer.Feed {
	names := transformer.FeedForwardNames{Gate: "mlp.gate.", Up: "mlp.gated_layers.", Down: "mlp.wo."}
	if !l.Has("mlp.gate.weight") {
		names.Packed = names.Up
	}
	return l.FeedForward(config, names)
}

// alibiSlopes is ALiBi's slopes for any number of heads: those for the largest power of 2 within
// it, and every other one for twice as many.
func alibiSlopes(heads int) []float32 {
	slopes := transformer.ALiBiSlopes(1 << (bits.Len(uint(heads)) - 1))
	for i, s := range transformer.ALiBiSlopes(2 * len(slopes)) {
		if i%2 == 0 && len(slopes) < heads {
			slopes = append(slopes, s)
		}
	}
	return slopes
}

type jina3Config struct {
	Vocab        int     `json:"vocab_size"`
	Dim          int     `json:"hidden_size"`
	Layers       int     `json:"num_hidden_layers"`
	Heads        int     `json:"num_attention_heads"`
	HeadDim      int     `json:"head_dim" min:"0"` // 0: Dim/Heads
	Hidden       int     `json:"intermediate_size"`
	Activation   string  `json:"hidden_act"`
	MaxPositions int     `json:"max_position_embeddings"`
	Types        int     `json:"type_vocab_size"`
	Eps          float32 `json:"layer_norm_eps"`
	Tied         bool    `json:"tie_word_embeddings"`
	configuration.RopeFields
}

var jina3Layers = transformer.StackNames{Layers: "layers.%d.", Layer: transformer.LayerNames{
	Self: "self_attn.", SelfNorm: "post_attention_layernorm.", FeedNorm: "post_mlp_layernorm.",
	Attention: transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "o_proj."},
	Feed:      transformer.FeedForwardNames{Up: "mlp.fc1.", Down: "mlp.fc2."},
}}

// jina3HubLayers are the published names.
var jina3HubLayers = transformer.StackNames{Layers: "encoder.layers.%d.", Layer: transformer.LayerNames{
	Self: "mixer.", SelfNorm: "norm1.", FeedNorm: "norm2.",
	Attention: transformer.AttentionNames{Packed: "Wqkv.", Out: "out_proj."},
	Feed:      transformer.FeedForwardNames{Up: "mlp.fc1.", Down: "mlp.fc2."},
}}

// jina3GGUFNames returns a function from the tensors' names in published folders to llama.cpp's.
func jina3GGUFNames(*llamacpp.Reader) func(name string) string {
	return llamacpp.Names("encoder.layers.", map[string]string{
		"mixer.Wqkv": "attn_qkv", "mixer.out_proj": "attn_output", "norm1": "attn_output_norm", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down", "norm2": "layer_output_norm",
	}, llamacpp.Merged(llamacpp.Embeddings, map[string]string{"emb_ln": "token_embd_norm"}))
}

func newJina3(c *Checkpoint) (*Model, error) {
	config := jina3Config{
		Vocab: 250002, Dim: 1024, Layers: 24, Heads: 16, Hidden: 4096, Activation: "gelu", MaxPositions: 8194, Types: 1, Eps: 1e-5, Tied: true, RopeFields: configuration.Rope(20000),
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	activation, sharpness, err := c.doc.FeedActivation("hidden_act", config.Activation)
	if err != nil {
		return nil, err
	}
	if config.HeadDim == 0 {
		if config.HeadDim = config.Dim / config.Heads; config.Dim%config.Heads != 0 {
			return nil, c.doc.Errorf("num_attention_heads", "does not divide hidden_size = %d", config.Dim)
		}
	}
	rotary, err := c.doc.Rotary(config.RopeFields, config.HeadDim, config.MaxPositions)
	if err == nil && rotary.FrequenciesAt != nil {
		err = c.doc.Errorf("rope_parameters", "not supported by this model_type")
	}
	if err != nil {
		return nil, err
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = config.Vocab, config.Dim, config.Layers, config.MaxPositions
	body := c.Loader.Under("embeddings.word_embeddings.weight", "roberta.", "")
	norm := transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps}
	names, embeddingNorm := jina3Layers, "embeddings.LayerNorm."
	if body.Has("emb_ln.weight") {
		names, embeddingNorm = jina3HubLayers, "emb_ln."
	}
	e := &block.TextEncoder{
		Embedder: block.Embedder{
			Tokens:    body.At("embeddings.word_embeddings.").Embedding(config.Vocab, config.Dim),
			Types:     body.At("embeddings.token_type_embeddings.").Embedding(config.Types, config.Dim),
			EmbedNorm: body.At(embeddingNorm).Norm(norm),
		},
		Layers: body.Stack(transformer.StackConfig{Layers: config.Layers, Layer: transformer.LayerConfig{
			Self:        transformer.AttentionConfig{Dim: config.Dim, Heads: config.Heads, HeadDim: config.HeadDim, Bias: true, OutBias: true, Rotary: rotary},
			FeedForward: transformer.FeedForwardConfig{Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Bias: true},
			Norm:        norm,
		}}, names),
	}
	return c.robertaHeads(&Model{Encoder: e}, body, e.Tokens, config.Eps, config.Tied)
}

// newJina5 returns EuroBERT, or Qwen 3 where queries and keys have norms, for the adapter of a
// task: nobody uses the model without one.
func newJina5(c *Checkpoint) (*Model, error) {
	tasks, err := c.taskNames()
	if err != nil {
		return nil, err
	}
	if len(c.options.Adapters) == 0 {
		return nil, check.Option("Task", "", "the model has an adapter for each task: want one of %s", strings.Join(tasks, ", "))
	}
	if c.Loader.Under("layers.0.input_layernorm.weight", "model.", "").Has("layers.0.self_attn.q_norm.weight") {
		c.doc.AsClass("qwen3")
		return newQwen3(c)
	}
	c.doc.AsClass("eurobert")
	return newEuroBERT(c)
}
