package models

import (
	"slices"

	"github.com/avoformer/avoformer/transformer"
)

// Decoding is the state of generating sequences with a LanguageModel. It is a Decoder
// for Generate and Beam.
type Decoding struct {
	model  LanguageModel
	ws     *Workspace
	memory *Memory
	cache  *Cache

	flat, lengths []int
	x, last       []float32
}

// Start starts generating a number of sequences. memory is what a decoder behind an
// encoder attends to, else nil.
func Start(ws *Workspace, m LanguageModel, memory *Memory, sequences int) *Decoding {
	return &Decoding{model: m, ws: ws, memory: memory, cache: m.NewCache(sequences)}
}

// Start starts generating a number of sequences with m.LM.
func (m *Model) Start(ws *Workspace, sequences int) *Decoding {
	return Start(ws, m.LM, nil, sequences)
}

// Logits sets dst, [rows, vocabulary], to the logits of the token behind each token of a
// batch, with m.LM. The tokens follow those that cache holds, which may be nil, as
// memory may be.
func (m *Model) Logits(ws *Workspace, dst []float32, tokens []int, batch Batch, memory *Memory, cache *Cache) error {
	if m.LM == nil {
		return errorf(transformer.ErrConfig, "%s is no language model", m.Config.ModelType)
	}
	if ws == nil {
		return errorf(transformer.ErrConfig, "workspace is nil; pass new(Workspace)")
	}
	if len(dst) != batch.Rows()*m.LM.Vocab() {
		return errorf(transformer.ErrShape, "logits have %d elements, want %d*%d (rows*vocabulary)", len(dst), batch.Rows(), m.LM.Vocab())
	}
	defer ws.Release(ws.Mark())
	x := ws.Alloc(batch.Rows() * m.LM.Dim()) // [rows, D]
	if err := m.LM.Hidden(ws, x, tokens, batch, memory, cache); err != nil {
		return err
	}
	return m.LM.Logits(ws, dst, x) // [rows, V]
}

// Continue starts as many continuations of what a sequence of d is: a prompt that
// several texts begin with is computed once.
func (d *Decoding) Continue(ws *Workspace, sequence, continuations int) (*Decoding, error) {
	cache, err := d.cache.Continue(sequence, continuations)
	if err != nil {
		return nil, err
	}
	return &Decoding{model: d.model, ws: ws, memory: d.memory, cache: cache}, nil
}

// Cache is the keys and values of the tokens so far.
func (d *Decoding) Cache() *Cache { return d.cache }

// Vocab implements Decoder.
func (d *Decoding) Vocab() int { return d.model.Vocab() }

// Reorder implements Decoder.
func (d *Decoding) Reorder(parents []int) error { return d.cache.Reorder(parents) }

// Feed implements Decoder. Of a prompt only the last token's logits are computed.
func (d *Decoding) Feed(tokens [][]int) ([]float32, error) {
	d.flat, d.lengths = d.flat[:0], d.lengths[:0]
	same, fed := true, 0
	for _, t := range tokens {
		d.flat = append(d.flat, t...)
		d.lengths = append(d.lengths, len(t))
		same = same && len(t) == len(tokens[0])
		fed += min(len(t), 1)
	}
	batch := transformer.Uniform(len(tokens), 0)
	if same && len(tokens) > 0 {
		batch = transformer.Uniform(len(tokens), len(tokens[0]))
	} else if !same {
		batch = transformer.Ragged(d.lengths...)
	}
	dim, vocab := d.model.Dim(), d.model.Vocab()
	d.x = slices.Grow(d.x[:0], len(d.flat)*dim)[:len(d.flat)*dim] // [rows, D]
	if err := d.model.Hidden(d.ws, d.x, d.flat, batch, d.memory, d.cache); err != nil {
		return nil, err
	}
	if len(d.last) != len(tokens)*vocab {
		d.last = make([]float32, len(tokens)*vocab) // [sequences, V]
	}
	rows := d.x[:0] // [fed, D]
	for i := range tokens {
		if batch.Length(i) > 0 {
			end := batch.Start(i + 1)
			rows = append(rows, d.x[(end-1)*dim:end*dim]...)
		}
	}
	if fed == len(tokens) {
		return d.last, d.model.Logits(d.ws, d.last, rows)
	}
	defer d.ws.Release(d.ws.Mark())
	logits := d.ws.Alloc(fed * vocab) // [fed, V]
	if err := d.model.Logits(d.ws, logits, rows); err != nil {
		return nil, err
	}
	for i := range tokens {
		if batch.Length(i) > 0 {
			logits = logits[copy(d.last[i*vocab:(i+1)*vocab], logits):]
		}
	}
	return d.last, nil
}
