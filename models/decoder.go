package models

import (
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// This file has what the architectures that generate text have in common.

// decoderLayer is a layer of a decoder: [transformer.Layer] for most.
type decoderLayer interface {
	Forward(ws *Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error
	// CacheBytes is the memory that a cache in a format takes for a row: keys and values, or other state.
	CacheBytes(f kernels.Format) int64
}

// A crossLayer is a decoderLayer that may attend to what an encoder gives, of which a cache takes MemoryBytes a row; 0: it does not.
type crossLayer interface{ MemoryBytes() int64 }

// memoryBytes is MemoryBytes of a layer, 0 where it has none.
func memoryBytes(l decoderLayer) int64 {
	if c, ok := l.(crossLayer); ok {
		return c.MemoryBytes()
	}
	return 0
}

// decoder is a stack of layers between tokens and logits. It implements LanguageModel.
type decoder struct {
	embedder
	layers  []decoderLayer
	windows []int               // keys that a query of each layer sees, itself included; 0: all
	masks   []*transformer.Mask // of the layers, by their windows
	bias    *relativeBias       // of the scores; nil: none
	norm    *transformer.Norm   // after the last layer; nil: none
	head    *transformer.Linear
	held    kernels.Format // of keys and values in caches
	// adapters are the names of those beside the weights.
	adapters []string
	cap      float32 // logits x become cap*tanh(x/cap); 0: they stay
	scale    float32 // of the logits; 0: 1
	// frequencies are those of the rotary positions where they depend on the length of
	// the sequence; else nil.
	frequencies func(length int) []float64
}

// add adds a layer with a window, 0 for none.
func (d *decoder) add(l decoderLayer, window int) {
	mask := causal
	if window > 0 {
		mask = transformer.SlidingWindow(window)
	}
	d.layers, d.windows, d.masks = append(d.layers, l), append(d.windows, window), append(d.masks, mask)
}

func (d *decoder) Vocab() int { return d.head.Out }

func (d *decoder) NewPages(limit int64) *Pages {
	p, err := transformer.NewPages(transformer.PagesConfig{Windows: d.windows, Format: d.held, Limit: max(limit, 0)})
	if err != nil {
		panic(err) // Options.check knows the formats
	}
	return p
}

// RewritesHistory reports whether keys and values of earlier tokens change with the length of the sequence, so that
// the first rows of a history are not that of a shorter text.
func (d *decoder) RewritesHistory() bool { return d.frequencies != nil }

// Adapter is the number, for [transformer.History.Adapt], of the adapter with a name, and false if there is none.
func (d *decoder) Adapter(name string) (number int, ok bool) {
	at := slices.Index(d.adapters, name)
	return at + 1, at >= 0
}

// AttendsToMemory reports whether the decoder attends to what an encoder gives.
func (d *decoder) AttendsToMemory() bool {
	return slices.ContainsFunc(d.layers, func(l decoderLayer) bool { return memoryBytes(l) > 0 })
}

func (d *decoder) Hidden(ws *Workspace, dst []float32, tokens []int, batch Batch, memory *Memory, cache *Cache) error {
	if d.frequencies != nil && cache != nil {
		return d.again(ws, dst, tokens, batch, memory, cache)
	}
	return d.pass(ws, dst, tokens, batch, memory, cache) // [rows, D]
}

// again is a pass with a cache where frequencies depend on the length. With them the
// hidden states of all earlier tokens change, so that sequences whose frequencies are
// no longer those of their cache are computed from their start.
func (d *decoder) again(ws *Workspace, dst []float32, tokens []int, batch Batch, memory *Memory, cache *Cache) error {
	if err := d.check(dst, Tokens{IDs: tokens, Batch: batch}, cache); err != nil {
		return err
	}
	all, lengths := make([]int, 0, len(tokens)), make([]int, batch.Len())
	for i := range batch.Len() {
		added, past := tokens[batch.Start(i):batch.Start(i+1)], cache.Remembered(i)
		if len(added) > 0 && len(past) > 0 && (cache.Len(i) != len(past) || !slices.Equal(d.frequencies(len(past)), d.frequencies(len(past)+len(added)))) {
			if err := cache.Restart(i); err != nil {
				return err
			}
			all, lengths[i] = append(all, past...), len(past)
		}
		all, lengths[i] = append(all, added...), lengths[i]+len(added)
	}
	if len(all) == len(tokens) {
		if err := d.pass(ws, dst, tokens, batch, memory, cache); err != nil { // [rows, D]
			return err
		}
	} else {
		defer ws.Release(ws.Mark())
		dim, whole := d.Dim(), transformer.Ragged(lengths...)
		x := ws.Alloc(len(all) * dim)                                    // [rows from the start, D]
		if err := d.pass(ws, x, all, whole, memory, cache); err != nil { // [rows from the start, D]
			return err
		}
		for i := range batch.Len() { // the last rows are those asked for
			rows, end := dst[batch.Start(i)*dim:batch.Start(i+1)*dim], whole.Start(i+1)*dim
			copy(rows, x[end-len(rows):end])
		}
	}
	cache.Remember(tokens, batch)
	return nil
}

// pass is Hidden of tokens that follow those in cache.
func (d *decoder) pass(ws *Workspace, dst []float32, tokens []int, batch Batch, memory *Memory, cache *Cache) error {
	if err := d.embed(ws, dst, Tokens{IDs: tokens, Batch: batch}, cache); err != nil { // [rows, D]
		return err
	}
	ws.Adapt(batch, cache, len(d.adapters))
	defer ws.Unadapt()
	if err := cache.Begin(batch, len(d.layers)); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	in := transformer.LayerInput{X: dst, Batch: batch}
	if memory != nil {
		in.Memory, in.MemoryBatch, in.MemoryMask = memory.X, memory.Batch, memory.Mask
	}
	bias := d.bias.mask(ws, batch, cache) // [1 or sequences, heads, queries, keys]
	for i, l := range d.layers {
		in.Mask = d.masks[i].And(bias)
		if err := l.Forward(ws, dst, in, cache.Layer(i)); err != nil { // [rows, D]
			return err
		}
	}
	cache.End(batch)
	if d.norm == nil {
		return nil
	}
	return d.norm.Forward(ws, dst, dst) // [rows, D]
}

func (d *decoder) Logits(ws *Workspace, dst, x []float32) error {
	if err := d.head.Forward(ws, dst, x); err != nil { // [rows, V]
		return err
	}
	if d.scale != 0 {
		ws.Threads.Scale(dst, dst, d.scale)
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

// causal is shared by the layers without a window.
var causal = transformer.Causal()

// causalEncoder is a decoder as an encoder, whose tokens see those in front of them.
type causalEncoder struct{ *decoder }

// BothWays tells that no token is hidden from those in front of it.
func (e causalEncoder) BothWays() bool {
	return !slices.ContainsFunc(e.masks, func(m *transformer.Mask) bool { return m != nil })
}

func (e causalEncoder) Encode(ws *Workspace, dst []float32, in Tokens) error {
	if in.Types != nil {
		return check.Errorf(transformer.ErrShape, "this model has no types of tokens")
	}
	return e.Hidden(ws, dst, in.IDs, in.Batch, nil, nil) // [rows, D]
}

// historyBytes is the memory of a history: of one token, of a text of the given length (0: no limit), and of a row of an
// encoder's memory.
func (d *decoder) historyBytes(length int) (token, text, memoryRow int64) {
	for i, l := range d.layers {
		rows := length
		if w := d.windows[i]; w > 0 {
			rows = min(rows, w+transformer.PageRows) // of the page that begins the window, some are seen no more
		}
		n := l.CacheBytes(d.held)
		token += n
		text += n * int64((rows+transformer.PageRows-1)/transformer.PageRows*transformer.PageRows)
		memoryRow += memoryBytes(l)
	}
	return token, text, memoryRow
}
