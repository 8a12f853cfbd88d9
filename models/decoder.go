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
	if err := d.embed(ws, dst, Tokens{IDs: tokens, Batch: batch}, cache); err != nil { // [rows, D]
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
