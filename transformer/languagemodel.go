package transformer

// LanguageModelConfig describes a decoder-only language model.
type LanguageModelConfig struct {
	Vocab int
	Stack StackConfig
	// Window, if not 0, lets each token see only that many, itself included.
	Window int
	// TiedHead uses the embedding as the projection to logits.
	TiedHead bool
}

// LlamaConfig is the configuration of today's usual language model: pre-norm
// with RMS normalization, rotary positions, grouped-query attention, SwiGLU, no
// biases.
func LlamaConfig(vocab, dim, heads, kvHeads, layers, feedForward int, eps float32, rotary RotaryConfig) LanguageModelConfig {
	return LanguageModelConfig{
		Vocab: vocab,
		Stack: StackConfig{
			Layers: layers,
			Layer: LayerConfig{
				Self:        AttentionConfig{Dim: dim, Heads: heads, KVHeads: kvHeads, Rotary: &rotary},
				FeedForward: FeedForwardConfig{Hidden: feedForward, Activation: SiLU, Gated: true},
				Norm:        NormConfig{Eps: eps, RMS: true},
				NormFirst:   true,
			},
			FinalNorm: true,
		},
	}
}

// LanguageModelNames says what a checkpoint calls the parts of a LanguageModel.
type LanguageModelNames struct {
	Embedding string
	Stack     StackNames
	Head      string
}

// Llama is the names of Hugging Face's LlamaForCausalLM.
var Llama = LanguageModelNames{"model.embed_tokens.", LlamaLayers, "lm_head."}

// LanguageModel is a decoder-only language model.
type LanguageModel struct {
	LanguageModelConfig
	Embedding *Embedding
	Stack     *Stack
	Head      *Linear // [vocabulary, D]
	mask      *Mask
}

// NewLanguageModel takes the weights with the given names.
func NewLanguageModel(c LanguageModelConfig, names LanguageModelNames, w Weights) (*LanguageModel, error) {
	if err := positive("language model", size{"vocabulary", c.Vocab}, size{"window", c.Window + 1}); err != nil {
		return nil, err
	}
	var err error
	if c.Stack, err = c.Stack.withDefaults(); err != nil {
		return nil, err
	}
	if c.Stack.Layer.Cross != nil {
		return nil, errorf(ErrConfig, "language model with cross-attention")
	}
	dim := c.Stack.Layer.Self.Dim
	l := NewLoader(w)
	m := &LanguageModel{
		LanguageModelConfig: c,
		Embedding:           l.At(names.Embedding).Embedding(c.Vocab, dim),
		Stack:               l.stack(c.Stack, names.Stack),
		mask:                causal,
	}
	if c.TiedHead {
		m.Head = l.LinearOf(dim, c.Vocab, m.Embedding.Weight, nil)
	} else {
		m.Head = l.At(names.Head).Linear(dim, c.Vocab, false)
	}
	if c.Window > 0 {
		m.mask = SlidingWindow(c.Window)
	}
	return finish(m, l)
}

// Logits sets dst, [rows, Vocab], to the logits of the token behind each token.
// cache may be nil; else the tokens follow those that it holds.
func (m *LanguageModel) Logits(ws *Workspace, dst []float32, tokens []int, batch Batch, cache *Cache) error {
	if err := checkLen("logits", dst, batch.Rows()*m.Vocab, "rows*vocabulary"); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	x := ws.Alloc(batch.Rows() * m.Embedding.Dim) // [rows, D]
	if err := m.hidden(ws, x, tokens, batch, cache); err != nil {
		return err
	}
	return m.Head.Forward(ws, dst, x) // [rows, V]
}

// hidden sets x, [rows, D], to what the logits are made of.
func (m *LanguageModel) hidden(ws *Workspace, x []float32, tokens []int, batch Batch, cache *Cache) error {
	if len(tokens) != batch.Rows() {
		return errorf(ErrShape, "%d tokens in a batch of %d rows", len(tokens), batch.Rows())
	}
	if err := m.Embedding.Forward(ws, x, tokens); err != nil {
		return err
	}
	return m.Stack.Forward(ws, x, LayerInput{X: x, Batch: batch, Mask: m.mask}, cache)
}

// Conversation is the state of generating sequences with a LanguageModel. It is a
// Decoder for Generate and Beam.
type Conversation struct {
	model  *LanguageModel
	ws     *Workspace
	cache  *Cache
	feeder feeder
}

// Start starts generating sequences. With a window, the cache's memory does not
// grow beyond it.
func (m *LanguageModel) Start(ws *Workspace, sequences int) *Conversation {
	return &Conversation{model: m, ws: ws, cache: NewWindowCache(sequences, m.Window)}
}

// Cache is the keys and values of the tokens so far.
func (c *Conversation) Cache() *Cache { return c.cache }

// Vocab is the number of tokens.
func (c *Conversation) Vocab() int { return c.model.Vocab }

// Feed implements Decoder.
func (c *Conversation) Feed(tokens [][]int) ([]float32, error) {
	return c.feeder.feed(tokens, c.ws, c.model.Head, func(x []float32, flat []int, batch Batch) error {
		return c.model.hidden(c.ws, x, flat, batch, c.cache)
	})
}

// Reorder implements Decoder.
func (c *Conversation) Reorder(parents []int) error { return c.cache.Reorder(parents) }
