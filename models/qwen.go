package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Qwen 2 and 3: Yang et al., 2024, "Qwen2 Technical Report", and 2025, "Qwen3 Technical Report".
// Version 2 is Llama with biases in queries, keys and values; version 3 normalizes queries and keys
// instead.

func init() {
	Register(newQwen2, "qwen2")
	Register(newQwen3, "qwen3")
	registerGGUF("qwen2", llamacpp.Architecture{})
	registerGGUF("qwen3", llamacpp.Architecture{})
	Describe(Traits{Judge: &mxbaiRerank}, "qwen2")
	Describe(Traits{Judge: &qwen3Reranker}, "qwen3")
}

// qwen3Reranker has the prompt that Qwen3-Reranker was trained with (Zhang et al., 2025, "Qwen3
// Embedding: Advancing Text Embedding and Reranking Through Foundation Models").
var qwen3Reranker = Judge{
	Name: "Qwen3-Reranker",
	Begin: "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. " +
		"Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n",
	Pair:        "<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {text}",
	End:         "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
	Instruction: "Given a web search query, retrieve relevant passages that answer the query",
	Yes:         "yes", No: "no",
	Told:  "Judge whether the Document meets the requirements based on the Query and the Instruct provided",
	Limit: 8192,
}

// mxbaiRerank has the prompt of mxbai-rerank-base-v2 and mxbai-rerank-large-v2 in their authors'
// package mxbai-rerank 0.1.
var mxbaiRerank = Judge{
	Name:       "mxbai-rerank-v2",
	Begin:      "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n<|im_start|>user\n",
	Query:      "query: {query}",
	Instructed: "instruction: {instruction}\nquery: {query}",
	Separator:  "\n",
	Pair:       "document: {text}",
	End: "\nYou are a search relevance expert who evaluates how well documents match search queries. For each query-document pair, carefully analyze the semantic " +
		"relationship between them, then provide your binary relevance judgment (0 for not relevant, 1 for relevant).\nRelevance:<|im_end|>\n<|im_start|>assistant\n",
	Yes: "1", No: "0",
	Told:  "You are a search relevance expert who evaluates how well documents match search queries",
	Limit: 8192,
}

type qwenConfig struct {
	llamaFields
	configuration.WindowFields
	Bias         bool `json:"attention_bias"` // of version 3; version 2 has it in queries, keys and values
	UseWindow    bool `json:"use_sliding_window"`
	WindowLayers int  `json:"max_window_layers" min:"-2147483648"` // the first that have no window
}

func newQwen2(c *Checkpoint) (*Model, error) { return c.qwen(2) }
func newQwen3(c *Checkpoint) (*Model, error) { return c.qwen(3) }

// qwenLayer is the names of a layer.
var qwenLayer = func() transformer.LayerNames {
	names := llamaLayer
	names.Attention.QueryNorm, names.Attention.KeyNorm = "q_norm.", "k_norm."
	return names
}()

// qwenDefaults returns transformers' defaults of fields that config.json lacks.
func qwenDefaults() qwenConfig {
	config := qwenConfig{llamaFields: llamaDefaults, WindowFields: configuration.WindowFields{Window: 4096}, WindowLayers: 28}
	config.Vocab, config.KVHeads, config.Hidden, config.MaxPositions = 151936, 32, 22016, 32768
	config.Kinds = true
	return config
}

func (c *Checkpoint) qwen(version int) (*Model, error) {
	config := qwenDefaults()
	if version == 3 {
		config.HeadDim = 128
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	windows, err := config.windows(c, func(i int) bool { return i >= config.WindowLayers })
	if err != nil {
		return nil, err
	}
	layer, err := config.layer(c, version)
	if err != nil {
		return nil, err
	}
	return c.llama(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		return l.Layer(layer, qwenLayer), windows(i)
	})
}

// windows returns the window of each layer. slides says which have one where layer_types does not.
func (f *qwenConfig) windows(c *Checkpoint, slides func(layer int) bool) (func(layer int) int, error) {
	if !f.UseWindow {
		f.Window = 0 // published with one that is not used
	}
	return c.doc.Windows(f.WindowFields, f.Layers, slides)
}

// layer returns the configuration of a layer of a version.
func (f *qwenConfig) layer(c *Checkpoint, version int) (transformer.LayerConfig, error) {
	layer, err := f.llamaFields.layer(c, "")
	if version == 3 {
		layer.Self.Bias, layer.Self.OutBias = f.Bias, f.Bias
		layer.Self.QKNorm = &transformer.NormConfig{Eps: f.Eps, RMS: true}
	} else {
		layer.Self.Bias = true
	}
	return layer, err
}
