package models

import (
	"github.com/avoformer/avoformer/transformer"
)

// This file has what the architectures that generate text have in common.

// decoderLayer is a layer of a decoder: [transformer.Layer] for most.
type decoderLayer interface {
	Forward(ws *Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error
}

// decoder is a stack of layers between tokens and logits. It implements LanguageModel.
type decoder struct {
	embedder
	layers  []decoderLayer
	windows []int             // keys that a query of each layer sees, itself included; 0: all
	bias    *relativeBias     // of the scores; nil: none
	norm    *transformer.Norm // behind the last layer; nil: none
	head    *transformer.Linear
	cap     float32 // logits x become cap*tanh(x/cap); 0: they stay
}

// add adds a layer with a window, 0 for none.
func (d *decoder) add(l decoderLayer, window int) {
	d.layers, d.windows = append(d.layers, l), append(d.windows, window)
}

func (d *decoder) Vocab() int { return d.head.Out }

func (d *decoder) NewCache(sequences int) *Cache {
	return transformer.NewWindowCache(sequences, d.windows...)
}

func (d *decoder) Hidden(ws *Workspace, dst []float32, tokens []int, batch Batch, memory *Memory, cache *Cache) error {
	if cache != nil && cache.Sequences() != batch.Len() {
		return errorf(transformer.ErrShape, "batch of %d sequences with a cache of %d", batch.Len(), cache.Sequences())
	}
	if err := d.embed(ws, dst, tokens, batch, cache); err != nil { // [rows, D]
		return err
	}
	if err := cache.Begin(batch, len(d.layers)); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	in := transformer.LayerInput{X: dst, Batch: batch}
	if memory != nil {
		in.Memory, in.MemoryBatch, in.MemoryMask = memory.X, memory.Batch, memory.Mask
	}
	bias := d.bias.mask(ws, batch, cache)
	for i, l := range d.layers {
		in.Mask = causal(d.windows[i]).And(bias)
		if err := l.Forward(ws, dst, in, cache.Layer(i)); err != nil { // [rows, D]
			return err
		}
	}
	cache.End(batch)
	if d.norm == nil {
		return nil
	}
	return d.norm.Forward(ws, dst, dst)
}

func (d *decoder) Logits(ws *Workspace, dst, x []float32) error {
	if err := d.head.Forward(ws, dst, x); err != nil { // [rows, V]
		return err
	}
	if d.cap > 0 {
		softCap(ws, dst, d.cap)
	}
	return nil
}

// softCap bounds x smoothly to ±limit.
func softCap(ws *Workspace, x []float32, limit float32) {
	ws.Threads.Scale(x, x, 1/limit)
	ws.Threads.Tanh(x, x)
	ws.Threads.Scale(x, x, limit)
}

var causalMask = transformer.Causal()

// causal is the mask of a layer with the given window.
func causal(window int) *transformer.Mask {
	if window > 0 {
		return transformer.SlidingWindow(window)
	}
	return causalMask
}

// embedder turns tokens into the first hidden states.
type embedder struct {
	tokens *transformer.Embedding
	// positions are added, from row first on; nil: they enter elsewhere.
	positions *transformer.Embedding
	first     int
	embedNorm *transformer.Norm // nil: none
}

func (e *embedder) Dim() int { return e.tokens.Dim }

// embed sets dst, [rows, D], to the vectors of tokens that follow those in cache, which
// may be nil.
func (e *embedder) embed(ws *Workspace, dst []float32, tokens []int, batch Batch, cache *Cache) error {
	if len(tokens) != batch.Rows() {
		return errorf(transformer.ErrShape, "%d tokens in a batch of %d rows", len(tokens), batch.Rows())
	}
	if len(dst) != len(tokens)*e.tokens.Dim {
		return errorf(transformer.ErrShape, "dst has %d elements, want %d*%d (rows*dim)", len(dst), len(tokens), e.tokens.Dim)
	}
	if err := e.tokens.Forward(ws, dst, tokens); err != nil {
		return err
	}
	if e.positions != nil {
		at := make([]int, 0, len(tokens))
		for i := range batch.Len() {
			past, end := cache.Len(i), cache.Len(i)+batch.Length(i)
			if most := e.positions.Vocab - e.first; end > most {
				return errorf(transformer.ErrTooLong, "sequence of %d tokens, the model has %d positions", end, most)
			}
			for p := past; p < end; p++ {
				at = append(at, e.first+p)
			}
		}
		if err := e.positions.Add(ws, dst, at); err != nil {
			return err
		}
	}
	if e.embedNorm == nil {
		return nil
	}
	return e.embedNorm.Forward(ws, dst, dst)
}

// textEncoder is the encoder in front of a decoder. It implements Encoder.
type textEncoder struct {
	embedder
	layers *transformer.Stack
	bias   *relativeBias // of the scores; nil: none
}

func (e *textEncoder) Encode(ws *Workspace, dst []float32, in Tokens) error {
	if in.Types != nil {
		return errorf(transformer.ErrShape, "this model has no types of tokens")
	}
	if err := e.embed(ws, dst, in.IDs, in.Batch, nil); err != nil { // [rows, D]
		return err
	}
	defer ws.Release(ws.Mark())
	return e.layers.Forward(ws, dst, transformer.LayerInput{X: dst, Batch: in.Batch, Mask: e.bias.mask(ws, in.Batch, nil)}, nil)
}

// causalHead loads the head of the decoder d: the embedding itself where the checkpoint
// ties the two.
func (c *Checkpoint) causalHead(d *decoder, tied bool) error {
	l := c.Loader.At("lm_head.")
	switch c.Config.Head() {
	case "ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "MTModel", "":
		if tied {
			d.head = l.Tied(d.tokens, nil)
		} else {
			d.head = l.Linear(d.tokens.Dim, d.tokens.Vocab, false)
		}
		return nil
	}
	return c.unknownHead()
}
