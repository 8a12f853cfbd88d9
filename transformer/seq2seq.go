package transformer

import "math"

// TransformerConfig describes an encoder-decoder.
type TransformerConfig struct {
	Encoder, Decoder StackConfig
}

// TorchConfig is the configuration of torch.nn.Transformer(d_model, nhead,
// num_encoder_layers, num_decoder_layers, dim_feedforward, activation), with
// its biases, final normalizations and eps of 1e-5. normFirst is norm_first.
func TorchConfig(dim, heads, encoderLayers, decoderLayers, feedForward int, activation Activation, normFirst bool) TransformerConfig {
	attention := AttentionConfig{Dim: dim, Heads: heads, Bias: true, OutBias: true}
	layer := LayerConfig{
		Self:        attention,
		FeedForward: FeedForwardConfig{Hidden: feedForward, Activation: activation, Bias: true},
		Norm:        NormConfig{Eps: 1e-5},
		NormFirst:   normFirst,
	}
	decoder := layer
	decoder.Cross = &attention
	return TransformerConfig{
		Encoder: StackConfig{Layers: encoderLayers, Layer: layer, FinalNorm: true},
		Decoder: StackConfig{Layers: decoderLayers, Layer: decoder, FinalNorm: true},
	}
}

// D2LConfig is the configuration of d2l's encoder and decoder: post-norm,
// ReLU, attention without biases unless bias is set, no final normalization.
func D2LConfig(hiddens, heads, layers, feedForward int, bias bool) TransformerConfig {
	c := TorchConfig(hiddens, heads, layers, layers, feedForward, ReLU, false)
	for _, s := range []*StackConfig{&c.Encoder, &c.Decoder} {
		s.FinalNorm = false
		s.Layer.Self.Bias, s.Layer.Self.OutBias = bias, bias
	}
	c.Decoder.Layer.Cross = &c.Encoder.Layer.Self
	return c
}

// TransformerNames says what an ecosystem calls the parts of a transformer.
type TransformerNames struct {
	Encoder                    string // prefix of the encoder
	Decoder                    string
	EncoderNames, DecoderNames StackNames
}

// The names of some ecosystems.
var (
	TorchTransformer = TransformerNames{"encoder.", "decoder.", TorchEncoder, TorchDecoder}
	D2LTransformer   = TransformerNames{"encoder.", "decoder.", D2LEncoder, D2LDecoder}
)

func (c TransformerConfig) withDefaults() (TransformerConfig, error) {
	var err error
	if c.Encoder, err = c.Encoder.withDefaults(); err != nil {
		return c, err
	}
	if c.Decoder, err = c.Decoder.withDefaults(); err != nil {
		return c, err
	}
	cross := c.Decoder.Layer.Cross
	if cross == nil {
		return c, errorf(ErrConfig, "transformer: decoder without cross-attention")
	}
	if cross.KeyDim != c.Encoder.Layer.Self.Dim || cross.ValueDim != c.Encoder.Layer.Self.Dim {
		return c, errorf(ErrConfig, "transformer: decoder attends to width %d, the encoder's is %d", cross.KeyDim, c.Encoder.Layer.Self.Dim)
	}
	return c, nil
}

// Transformer is an encoder and a decoder that attends to its output, without
// embeddings, as torch.nn.Transformer.
type Transformer struct {
	Encoder, Decoder *Stack
}

// NewTransformer takes the weights with the given names under prefix.
func NewTransformer(c TransformerConfig, names TransformerNames, w Weights, prefix string) (*Transformer, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	l := NewLoader(w).At(prefix)
	return finish(l.transformer(c, names), l)
}

func (l *Loader) transformer(c TransformerConfig, names TransformerNames) *Transformer {
	return &Transformer{
		Encoder: l.At(names.Encoder).stack(c.Encoder, names.EncoderNames),
		Decoder: l.At(names.Decoder).stack(c.Decoder, names.DecoderNames),
	}
}

// Forward sets dst, [rows of target, Dim], to the decoder's output for target,
// given source. source.Mask and target.Mask are those of self-attention;
// target.MemoryMask is that of cross-attention. target's memory is the
// encoder's output and need not be set.
func (t *Transformer) Forward(ws *Workspace, dst []float32, source, target LayerInput) error {
	defer ws.Release(ws.Mark())
	memory := ws.Alloc(source.Batch.Rows() * t.Encoder.Dim) // [source rows, D]
	if err := t.Encoder.Forward(ws, memory, source, nil); err != nil {
		return err
	}
	target.Memory, target.MemoryBatch = memory, source.Batch
	return t.Decoder.Forward(ws, dst, target, nil)
}

// Seq2SeqConfig describes an encoder-decoder from tokens to tokens.
type Seq2SeqConfig struct {
	TransformerConfig
	SourceVocab, TargetVocab int
	MaxLen                   int // of the sinusoidal positions
	// RestartPositions counts positions from 0 in every call to Feed, so that
	// tokens fed one by one all have position 0: what d2l's predict_seq2seq does,
	// because its PositionalEncoding does not know of earlier tokens.
	RestartPositions bool
}

// Seq2SeqNames says what a checkpoint calls the parts of a Seq2Seq.
type Seq2SeqNames struct {
	SourceEmbedding, TargetEmbedding string
	Transformer                      string // prefix of the transformer
	TransformerNames                 TransformerNames
	Generator                        string // the projection to logits
}

// D2LSeq2Seq is what d2l's encoder and decoder call their parts.
var D2LSeq2Seq = Seq2SeqNames{
	SourceEmbedding: "encoder.embedding.", TargetEmbedding: "decoder.embedding.",
	TransformerNames: D2LTransformer, Generator: "decoder.dense.",
}

// Seq2Seq is the encoder-decoder of "Attention Is All You Need": embeddings
// scaled by sqrt(dim) plus sinusoidal positions, a transformer, and a
// projection to the logits of the next token.
type Seq2Seq struct {
	Seq2SeqConfig
	SourceEmbedding, TargetEmbedding *Embedding
	Transformer                      *Transformer
	Generator                        *Linear
	positions                        []float32 // [MaxLen, D]
}

// NewSeq2Seq takes the weights with the given names.
func NewSeq2Seq(c Seq2SeqConfig, names Seq2SeqNames, w Weights) (*Seq2Seq, error) {
	var err error
	if c.TransformerConfig, err = c.TransformerConfig.withDefaults(); err != nil {
		return nil, err
	}
	if err := positive("encoder-decoder", size{"source vocabulary", c.SourceVocab}, size{"target vocabulary", c.TargetVocab}, size{"max len", c.MaxLen}); err != nil {
		return nil, err
	}
	dim := c.Encoder.Layer.Self.Dim
	if d := c.Decoder.Layer.Self.Dim; d != dim {
		return nil, errorf(ErrConfig, "encoder-decoder: encoder of width %d, decoder of %d", dim, d)
	}
	if c.MaxLen > maxTable/dim {
		return nil, errorf(ErrConfig, "encoder-decoder: max len %d of width %d, want a table of at most %d elements", c.MaxLen, dim, maxTable)
	}
	l := NewLoader(w)
	m := &Seq2Seq{
		Seq2SeqConfig:   c,
		SourceEmbedding: l.At(names.SourceEmbedding).Embedding(c.SourceVocab, dim),
		TargetEmbedding: l.At(names.TargetEmbedding).Embedding(c.TargetVocab, dim),
		Transformer:     l.At(names.Transformer).transformer(c.TransformerConfig, names.TransformerNames),
		Generator:       l.At(names.Generator).Linear(dim, c.TargetVocab, true),
	}
	m.SourceEmbedding.Scale = float32(math.Sqrt(float64(dim)))
	m.TargetEmbedding.Scale = m.SourceEmbedding.Scale
	if !l.Failed() {
		m.positions = Sinusoidal(c.MaxLen, dim)
	}
	return finish(m, l)
}

// embed sets dst to the scaled vectors of the tokens plus their positions,
// which start at from(i) in sequence i.
func (m *Seq2Seq) embed(ws *Workspace, dst []float32, e *Embedding, tokens []int, batch Batch, from func(i int) int) error {
	if len(tokens) != batch.Rows() {
		return errorf(ErrShape, "%d tokens in a batch of %d rows", len(tokens), batch.Rows())
	}
	if err := e.Forward(ws, dst, tokens); err != nil {
		return err
	}
	for i := range batch.Len() {
		rows := dst[batch.Start(i)*e.Dim : batch.Start(i+1)*e.Dim]
		if err := addPositions(rows, m.positions, from(i), e.Dim); err != nil {
			return err
		}
	}
	return nil
}

func fromZero(int) int { return 0 }

// Encode sets dst, [rows, Dim], to the encoder's output for the source tokens
// of a batch, the memory of a decoder. mask is for padded batches; a Ragged
// batch needs none.
func (m *Seq2Seq) Encode(ws *Workspace, dst []float32, tokens []int, batch Batch, mask *Mask) error {
	defer ws.Release(ws.Mark())
	x := ws.Alloc(len(tokens) * m.SourceEmbedding.Dim) // [rows, D]
	if err := m.embed(ws, x, m.SourceEmbedding, tokens, batch, fromZero); err != nil {
		return err
	}
	ws.trace("encoder", "embedded", x, batch.shape(m.SourceEmbedding.Dim)...)
	return m.Transformer.Encoder.Forward(ws, dst, LayerInput{X: x, Batch: batch, Mask: mask}, nil)
}

// Logits sets dst, [rows of target, TargetVocab], to the logits of the token
// behind each target token, which sees the target tokens up to itself and the
// memory: the pass of training, and that which decoding step by step equals.
func (m *Seq2Seq) Logits(ws *Workspace, dst []float32, target []int, batch Batch, memory Memory) error {
	if err := checkLen("logits", dst, batch.Rows()*m.TargetVocab, "rows*vocabulary"); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	x := ws.Alloc(batch.Rows() * m.TargetEmbedding.Dim) // [rows, D]
	if err := m.decode(ws, x, target, batch, memory, nil); err != nil {
		return err
	}
	return m.Generator.Forward(ws, dst, x) // [rows, V]
}

// Memory is the output of an encoder.
type Memory struct {
	X     []float32 // [rows of Batch, Dim]
	Batch Batch
	Mask  *Mask // which rows each target sequence sees; nil: all
}

// decode sets x, [rows, D], to what the logits are made of.
func (m *Seq2Seq) decode(ws *Workspace, x []float32, target []int, batch Batch, memory Memory, cache *Cache) error {
	if err := cache.check(batch); err != nil {
		return err
	}
	from := fromZero
	if cache != nil && !m.RestartPositions {
		from = cache.Len
	}
	if err := m.embed(ws, x, m.TargetEmbedding, target, batch, from); err != nil {
		return err
	}
	ws.trace("decoder", "embedded", x, batch.shape(m.TargetEmbedding.Dim)...)
	return m.Transformer.Decoder.Forward(ws, x, LayerInput{
		X: x, Batch: batch, Mask: causal,
		Memory: memory.X, MemoryBatch: memory.Batch, MemoryMask: memory.Mask,
	}, cache)
}

// causal is shared, so that decoding does not allocate it again and again.
var causal = Causal()

// Decoding is the state of decoding target sequences of a Seq2Seq. It is a
// Decoder for Generate and Beam.
type Decoding struct {
	model  *Seq2Seq
	ws     *Workspace
	memory Memory
	cache  *Cache
	feeder feeder
}

// Decode starts decoding sequences of target tokens, given memory, whose batch
// has as many sequences, or one that all share.
func (m *Seq2Seq) Decode(ws *Workspace, memory Memory, sequences int) *Decoding {
	return &Decoding{model: m, ws: ws, memory: memory, cache: NewCache(sequences, 0)}
}

// Cache is the keys and values of the tokens so far.
func (d *Decoding) Cache() *Cache { return d.cache }

// Vocab is the number of target tokens.
func (d *Decoding) Vocab() int { return d.model.TargetVocab }

// Feed implements Decoder.
func (d *Decoding) Feed(tokens [][]int) ([]float32, error) {
	return d.feeder.feed(tokens, d.ws, d.model.Generator, func(x []float32, flat []int, batch Batch) error {
		return d.model.decode(d.ws, x, flat, batch, d.memory, d.cache)
	})
}

// Reorder implements Decoder.
func (d *Decoding) Reorder(parents []int) error { return d.cache.Reorder(parents) }
