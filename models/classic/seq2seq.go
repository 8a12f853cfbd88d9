package classic

import (
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// Seq2SeqConfig describes an encoder-decoder from tokens to tokens.
type Seq2SeqConfig struct {
	TransformerConfig
	SourceVocab, TargetVocab int
	MaxLen                   int // of the sinusoidal positions
	// RestartPositions counts positions from 0 in every call to Feed, so that tokens fed one by one
	// all have position 0: what d2l's predict_seq2seq does, because its PositionalEncoding does not
	// know of earlier tokens.
	RestartPositions bool
	// Pack decides in which formats the weights are held; nil: linear layers in float32, tables as
	// the checkpoint has them.
	Pack transformer.Chooser
}

// Seq2SeqNames says what a checkpoint calls the parts of a Seq2Seq.
type Seq2SeqNames struct {
	SourceEmbedding, TargetEmbedding string
	Transformer                      string // prefix of the transformer
	TransformerNames                 TransformerNames
	Generator                        string // the projection to logits
}

// D2LSeq2Seq returns the names that d2l's encoder and decoder have for their parts.
func D2LSeq2Seq() Seq2SeqNames {
	return Seq2SeqNames{
		SourceEmbedding: "encoder.embedding.", TargetEmbedding: "decoder.embedding.",
		TransformerNames: D2LTransformer(), Generator: "decoder.dense.",
	}
}

// Seq2Seq is the encoder-decoder of "Attention Is All You Need" (Vaswani et al., 2017): embeddings
// scaled by sqrt(dim) plus sinusoidal positions, a transformer, and a projection to the logits of
// the next token.
type Seq2Seq struct {
	Seq2SeqConfig
	SourceEmbedding, TargetEmbedding *transformer.Embedding
	Transformer                      *Transformer
	Generator                        *transformer.Linear
	positions                        []float32 // [MaxLen, D]
}

// maxTable bounds the elements of a table of positions, whose size comes from the configuration
// alone.
const maxTable = 1 << 28

// NewSeq2Seq takes the weights with the given names under prefix.
func NewSeq2Seq(c Seq2SeqConfig, names Seq2SeqNames, w transformer.Weights, prefix string) (*Seq2Seq, error) {
	dim := c.Encoder.Layer.Self.Dim
	err := check.Positive("encoder-decoder", check.Size("source vocabulary", c.SourceVocab), check.Size("target vocabulary", c.TargetVocab), check.Size("max len", c.MaxLen), check.Size("dim", dim))
	if err != nil {
		return nil, err
	}
	if err := c.TransformerConfig.check(); err != nil {
		return nil, err
	}
	if d := c.Decoder.Layer.Self.Dim; d != dim {
		return nil, check.Errorf(fault.ErrConfig, "encoder-decoder: encoder of width %d, decoder of %d", dim, d)
	}
	if c.MaxLen > maxTable/dim {
		return nil, check.Errorf(fault.ErrConfig, "encoder-decoder: max len %d of width %d, want a table of at most %d elements", c.MaxLen, dim, maxTable)
	}
	l := transformer.NewLoader(w).At(prefix)
	l.Pack(c.Pack)
	m := &Seq2Seq{
		Seq2SeqConfig:   c,
		SourceEmbedding: l.At(names.SourceEmbedding).Embedding(c.SourceVocab, dim),
		TargetEmbedding: l.At(names.TargetEmbedding).Embedding(c.TargetVocab, dim),
		Transformer:     load(l.At(names.Transformer), c.TransformerConfig, names.TransformerNames),
		Generator:       l.At(names.Generator).Linear(dim, c.TargetVocab, true),
	}
	if !l.Failed() {
		m.SourceEmbedding.Scale = float32(math.Sqrt(float64(dim)))
		m.TargetEmbedding.Scale = m.SourceEmbedding.Scale
		m.positions = transformer.Sinusoidal(c.MaxLen, dim)
	}
	return finish(m, l)
}

// embed sets dst to the scaled vectors of the tokens plus their positions, which start at from(i)
// in sequence i.
func (m *Seq2Seq) embed(ws *transformer.Workspace, dst []float32, e *transformer.Embedding, tokens []int, batch transformer.Batch, from func(i int) int) error {
	if len(tokens) != batch.Rows() {
		return check.Errorf(fault.ErrShape, "%d tokens in a batch of %d rows", len(tokens), batch.Rows())
	}
	if err := e.Forward(ws, dst, tokens); err != nil { // [rows, D]
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

// Encode sets dst, [rows, Dim], to the encoder's output for the source tokens of a batch, the
// memory of a decoder. mask is for padded batches; a Ragged batch needs none. Trace reports
// "encoder.embedded", what enters the encoder.
func (m *Seq2Seq) Encode(ws *transformer.Workspace, dst []float32, tokens []int, batch transformer.Batch, mask *transformer.Mask) error {
	if ws == nil {
		return check.Errorf(fault.ErrConfig, "workspace is nil; pass new(Workspace)")
	}
	defer ws.Release(ws.Mark())
	x := ws.Alloc(len(tokens) * m.SourceEmbedding.Dim)                                 // [rows, D]
	if err := m.embed(ws, x, m.SourceEmbedding, tokens, batch, fromZero); err != nil { // [rows, D]
		return err
	}
	ws.ReportRows("encoder", "embedded", x, batch, m.SourceEmbedding.Dim)
	return m.Transformer.Encoder.Forward(ws, dst, transformer.LayerInput{X: x, Batch: batch, Mask: mask}, nil) // [rows, D]
}

// Logits sets dst, [rows of target, TargetVocab], to the logits of the token after each target
// token, which sees the target tokens up to itself and the memory: the pass of training, and that
// which decoding step by step equals.
func (m *Seq2Seq) Logits(ws *transformer.Workspace, dst []float32, target []int, batch transformer.Batch, memory models.Memory) error {
	if err := check.Len("logits", dst, batch.Rows()*m.TargetVocab, "rows*vocabulary"); err != nil {
		return err
	}
	if ws == nil {
		return check.Errorf(fault.ErrConfig, "workspace is nil; pass new(Workspace)")
	}
	defer ws.Release(ws.Mark())
	x := ws.Alloc(batch.Rows() * m.TargetEmbedding.Dim)                             // [rows, D]
	if err := (decoder{m}).Hidden(ws, x, target, batch, &memory, nil); err != nil { // [rows, D]
		return err
	}
	return m.Generator.Forward(ws, dst, x) // [rows, V]
}

// Decoder returns the part that predicts target tokens, given the memory that Encode makes: what
// package generation starts from. The memory has as many sequences as are decoded, or one that all
// share.
func (m *Seq2Seq) Decoder() models.LanguageModel { return decoder{m} }

var causal = transformer.Causal()

// decoder is the part of a Seq2Seq that predicts tokens, a models.LanguageModel.
type decoder struct{ m *Seq2Seq }

func (d decoder) Vocab() int { return d.m.TargetVocab }
func (d decoder) Dim() int   { return d.m.TargetEmbedding.Dim }

func (d decoder) NewPages(limit int64) *transformer.Pages {
	p, err := transformer.NewPages(transformer.PagesConfig{Limit: max(limit, 0)})
	if err != nil {
		panic(err) // nothing else can be wrong
	}
	return p
}

// Hidden implements models.LanguageModel. Trace reports "decoder.embedded".
func (d decoder) Hidden(ws *transformer.Workspace, x []float32, target []int, batch transformer.Batch, memory *models.Memory, cache *transformer.Cache) error {
	if cache != nil && cache.Sequences() != batch.Len() {
		return check.Errorf(fault.ErrShape, "batch of %d sequences with a cache of %d", batch.Len(), cache.Sequences())
	}
	from := cache.Len
	if d.m.RestartPositions {
		from = fromZero
	}
	if err := d.m.embed(ws, x, d.m.TargetEmbedding, target, batch, from); err != nil { // [rows, D]
		return err
	}
	ws.ReportRows("decoder", "embedded", x, batch, d.Dim())
	in := transformer.LayerInput{X: x, Batch: batch, Mask: causal}
	if memory != nil {
		in.Memory, in.MemoryBatch, in.MemoryMask = memory.X, memory.Batch, memory.Mask
	}
	return d.m.Transformer.Decoder.Forward(ws, x, in, cache) // [rows, D]
}

func (d decoder) Logits(ws *transformer.Workspace, dst, x []float32) error {
	return d.m.Generator.Forward(ws, dst, x) // [rows, V]
}

// addPositions adds rows [from, from+n) of table, [length, dim], to the n rows of x.
func addPositions(x, table []float32, from, dim int) error {
	if from*dim+len(x) > len(table) {
		return check.Errorf(fault.ErrTooLong, "position %d, the table has %d", from+len(x)/dim-1, len(table)/dim)
	}
	addTo(x, table[from*dim:from*dim+len(x)])
	return nil
}
