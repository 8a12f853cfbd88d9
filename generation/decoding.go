package generation

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// This file has the steps of generating with a language model, from tokens and a cache to logits.

// A Decoder predicts the next token of one or several sequences, given those fed so far. Decoding
// is one.
type Decoder interface {
	// Vocab is the number of tokens.
	Vocab() int
	// Feed appends tokens[i] to sequence i and returns the logits, [sequences, Vocab], of what
	// follows each. For a sequence whose tokens[i] is empty, these are the logits returned before.
	// The slice is valid until the next call.
	Feed(tokens [][]int) ([]float32, error)
	// Reorder makes sequence i continue from the tokens of sequence parents[i].
	Reorder(parents []int) error
}

// Decoding is the state of generating sequences with a models.LanguageModel. It is a Decoder for
// Generate and Beam.
type Decoding struct {
	model  models.LanguageModel
	ws     *transformer.Workspace
	memory *models.Memory
	cache  *transformer.Cache
	err    error // of what cannot be decoded with

	flat, lengths []int
	x, last       []float32
}

// Start starts generating a number of sequences with the decoder m. All methods of the Decoding
// return an error if m is not a decoder, if it attends to an encoder, or if a model, a workspace or
// a sequence is missing.
func Start(ws *transformer.Workspace, m *models.Model, sequences int) *Decoding {
	switch {
	case m == nil:
		return StartLM(ws, nil, nil, sequences)
	case m.LM == nil:
		return &Decoding{err: check.Errorf(fault.ErrConfig, "%s is not a language model", m.Config.ModelType)}
	case !m.Serves(models.UseText):
		return &Decoding{err: check.Errorf(fault.ErrConfig, "the decoder of %s attends to an encoder: give StartLM what that encodes", m.Config.ModelType)}
	}
	return StartLM(ws, m.LM, nil, sequences)
}

// StartLM is Start for a language model. memory has the rows that a decoder after an encoder
// attends to; for other decoders it is nil.
func StartLM(ws *transformer.Workspace, m models.LanguageModel, memory *models.Memory, sequences int) *Decoding {
	switch {
	case m == nil:
		return &Decoding{err: check.Errorf(fault.ErrConfig, "there is no language model to generate with")}
	case ws == nil:
		return &Decoding{err: check.Errorf(fault.ErrConfig, "workspace is nil; pass new(Workspace)")}
	case sequences < 1:
		return &Decoding{err: check.Errorf(fault.ErrShape, "generating %d sequences, want at least 1", sequences)}
	}
	return &Decoding{model: m, ws: ws, memory: memory, cache: m.NewPages(0).Cache(sequences)}
}

// undecodable returns the error of a decoder that was started with what cannot be decoded with.
func undecodable(d Decoder) error {
	if d, ok := d.(*Decoding); ok {
		return d.err
	}
	return nil
}

// Continue starts n continuations of a sequence of d: a prompt that several texts begin with is
// computed once.
func (d *Decoding) Continue(ws *transformer.Workspace, sequence, continuations int) (*Decoding, error) {
	if d.err != nil {
		return nil, d.err
	}
	cache, err := d.cache.Continue(sequence, continuations)
	if err != nil {
		return nil, err
	}
	return &Decoding{model: d.model, ws: ws, memory: d.memory, cache: cache}, nil
}

// Cache returns the keys and values of the tokens so far.
func (d *Decoding) Cache() *transformer.Cache { return d.cache }

// Vocab implements Decoder.
func (d *Decoding) Vocab() int {
	if d.err != nil {
		return 0
	}
	return d.model.Vocab()
}

// Reorder implements Decoder.
func (d *Decoding) Reorder(parents []int) error {
	if d.err != nil {
		return d.err
	}
	return d.cache.Reorder(parents)
}

// Feed implements Decoder. For a prompt it computes only the logits of the last token.
func (d *Decoding) Feed(tokens [][]int) ([]float32, error) {
	if d.err != nil {
		return nil, d.err
	}
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
