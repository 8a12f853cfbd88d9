package transformer

import "github.com/avoformer/avoformer/kernels"

// BERTConfig describes a BERT, with the names of Hugging Face's configuration
// in parentheses.
type BERTConfig struct {
	Vocab        int // (vocab_size)
	Types        int // (type_vocab_size)
	MaxPositions int // (max_position_embeddings)
	Dim          int // (hidden_size)
	Heads        int // (num_attention_heads)
	Layers       int // (num_hidden_layers)
	FeedForward  int // (intermediate_size)
	Activation   Activation
	Eps          float32 // (layer_norm_eps)
	// Relative replaces the table of absolute positions (position_embedding_type).
	Relative RelativeKind
	// MemoryDim, if not 0, gives each layer cross-attention to rows of this width
	// (encoder_width), as in BLIP's text decoder.
	MemoryDim int
	Chunk     int // rows of the feed-forward network at a time; 0: all
	Pooler    bool
}

// LayerConfig is that of one of the layers.
func (c BERTConfig) LayerConfig() LayerConfig {
	attention := AttentionConfig{
		Dim: c.Dim, Heads: c.Heads, Bias: true, OutBias: true,
		Relative: c.Relative, MaxPositions: c.MaxPositions,
	}
	layer := LayerConfig{
		Self:        attention,
		FeedForward: FeedForwardConfig{Hidden: c.FeedForward, Activation: c.Activation, Bias: true, Chunk: c.Chunk},
		Norm:        NormConfig{Eps: c.Eps},
	}
	if c.MemoryDim != 0 {
		attention.KeyDim, attention.Relative = c.MemoryDim, NoRelative
		layer.Cross = &attention
	}
	return layer
}

// BERT is a bidirectional encoder (Devlin et al., 2019), or with a causal mask
// and cross-attention the text decoder of BLIP.
type BERT struct {
	BERTConfig
	Words, Types, Positions *Embedding // Positions is nil with relative ones
	EmbeddingNorm           *Norm
	Encoder                 *Stack
	Pooler                  *Linear // or nil
}

// NewBERT takes the weights under prefix by the names of Hugging Face's
// BertModel.
func NewBERT(c BERTConfig, w Weights, prefix string) (*BERT, error) {
	if err := positive("BERT", size{"vocabulary", c.Vocab}, size{"types", c.Types}, size{"max positions", c.MaxPositions}); err != nil {
		return nil, err
	}
	stack, err := StackConfig{Layers: c.Layers, Layer: c.LayerConfig()}.withDefaults()
	if err != nil {
		return nil, err
	}
	l := NewLoader(w).At(prefix)
	b := &BERT{
		BERTConfig:    c,
		Words:         l.At("embeddings.word_embeddings.").Embedding(c.Vocab, c.Dim),
		Types:         l.At("embeddings.token_type_embeddings.").Embedding(c.Types, c.Dim),
		EmbeddingNorm: l.At("embeddings.LayerNorm.").norm(stack.Layer.Norm),
		Encoder:       l.stack(stack, BERTEncoder),
	}
	if c.Relative == NoRelative {
		b.Positions = l.At("embeddings.position_embeddings.").Embedding(c.MaxPositions, c.Dim)
	}
	if c.Pooler {
		b.Pooler = l.At("pooler.dense.").Linear(c.Dim, c.Dim, true)
	}
	return finish(b, l)
}

// BERTInput is what a BERT works on. Of LayerInput, X is not used.
type BERTInput struct {
	LayerInput
	Tokens []int // of the rows of Batch
	Types  []int // nil: all 0
}

// Forward sets dst, [rows, Dim], to the last layer's output. cache may be nil;
// see Stack.Forward.
func (b *BERT) Forward(ws *Workspace, dst []float32, in BERTInput, cache *Cache) error {
	rows := in.Batch.Rows()
	if len(in.Tokens) != rows || in.Types != nil && len(in.Types) != rows {
		return errorf(ErrShape, "%d tokens and %d types in a batch of %d rows", len(in.Tokens), len(in.Types), rows)
	}
	if err := cache.check(in.Batch); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	x := ws.Alloc(rows * b.Dim) // [rows, D]
	if err := b.Words.Forward(ws, x, in.Tokens); err != nil {
		return err
	}
	if in.Types != nil {
		if err := b.Types.Add(ws, x, in.Types); err != nil {
			return err
		}
	} else {
		for r := range rows {
			addTo(x[r*b.Dim:(r+1)*b.Dim], b.Types.Weight[:b.Dim])
		}
	}
	if b.Positions != nil {
		for i := range in.Batch.Len() {
			from := 0
			if cache != nil {
				from = cache.Len(i)
			}
			if err := addPositions(x[in.Batch.Start(i)*b.Dim:in.Batch.Start(i+1)*b.Dim], b.Positions.Weight, from, b.Dim); err != nil {
				return err
			}
		}
	}
	if err := b.EmbeddingNorm.Forward(ws, x, x); err != nil {
		return err
	}
	ws.trace("embeddings", "", x, in.Batch.shape(b.Dim)...)
	in.X = x
	return b.Encoder.Forward(ws, dst, in.LayerInput, cache)
}

// Pool sets dst, [sequences, Dim], to the pooled output for x, the result of
// Forward: tanh of a projection of each sequence's first row.
func (b *BERT) Pool(ws *Workspace, dst, x []float32, batch Batch) error {
	if b.Pooler == nil {
		return errorf(ErrConfig, "BERT without pooler")
	}
	defer ws.Release(ws.Mark())
	first, err := firstRows(ws, x, batch, b.Dim) // [sequences, D]
	if err != nil {
		return err
	}
	if err := b.Pooler.Forward(ws, dst, first); err != nil {
		return err
	}
	kernels.Tanh(dst, dst)
	return nil
}

// firstRows gathers the first row of each sequence.
func firstRows(ws *Workspace, x []float32, batch Batch, dim int) ([]float32, error) {
	if err := checkLen("x", x, batch.Rows()*dim, "rows*dim"); err != nil {
		return nil, err
	}
	first := ws.Alloc(batch.Len() * dim)
	for i := range batch.Len() {
		if batch.Length(i) == 0 {
			return nil, errorf(ErrShape, "sequence %d is empty", i)
		}
		copy(first[i*dim:(i+1)*dim], x[batch.Start(i)*dim:])
	}
	return first, nil
}
