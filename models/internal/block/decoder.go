package block

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// This file has what the architectures that generate text have in common.

// DecoderLayer is a layer of a decoder: [transformer.Layer] for most.
type DecoderLayer interface {
	Forward(ws *transformer.Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error
	// CacheBytes is the memory that a cache in a format takes for a row: keys and values, or other
	// state.
	CacheBytes(f kernels.Format) int64
}

// A crossLayer is a DecoderLayer that may attend to the rows of an encoder. A cache takes
// MemoryBytes for each row; 0: the layer does not attend to them.
type crossLayer interface{ MemoryBytes() int64 }

// A recurrentLayer is a DecoderLayer with a state: a cache keeps StateBytes for each sequence.
type recurrentLayer interface{ StateBytes() int64 }

// memoryBytes returns MemoryBytes of a layer, 0 if it does not have that method.
func memoryBytes(l DecoderLayer) int64 {
	if c, ok := l.(crossLayer); ok {
		return c.MemoryBytes()
	}
	return 0
}

// Decoder is a stack of layers between tokens and logits. It implements LanguageModel.
type Decoder struct {
	Embedder
	layers      []DecoderLayer
	Windows     []int               // keys that a query of each layer sees, itself included; 0: all
	Masks       []*transformer.Mask // of the layers, by their windows
	Bias        *RelativeBias       // of the scores; nil: none
	Norm        *transformer.Norm   // after the last layer; nil: none
	Head        *transformer.Linear
	cacheFormat kernels.Format // of keys and values in caches
	adapters    []string       // the names of those that are kept separate from the weights
	Cap         float32        // logits x become cap*tanh(x/cap); 0: they stay
	Scale       float32        // of the logits; 0: 1
	// Instead maps tokens to the tokens that replace them.
	Instead map[int]int
	// Beside makes the inputs of each layer in addition to the rows; nil: there are no such inputs.
	Beside *PerLayer
	// Streams are what passes through the layers in place of rows; nil: rows do.
	Streams *Streams
	// Kept is how many layers leave their keys and values to later ones.
	Kept int
	// Whole is set for the layers in which the rows of a Soft also see those after them in the same
	// Soft; nil: there are none. Such a Soft passes through the decoder as a whole.
	Whole []bool
	// Axes is whether rotary positions have axes, by which images are placed.
	Axes bool
	// ByLength is whether the frequencies of rotary positions depend on the length of the sequence.
	ByLength bool
	// Frequencies are those for a length, where a sequence whose frequencies change is computed
	// again from its start; else nil.
	Frequencies func(length int) []float64
	// Next predicts further tokens; nil: nothing does.
	Next *Predictor
}

// Add adds a layer with a window; 0: no window.
func (d *Decoder) Add(l DecoderLayer, window int) {
	mask := causal
	if window > 0 {
		mask = transformer.SlidingWindow(window)
	}
	d.layers, d.Windows, d.Masks = append(d.layers, l), append(d.Windows, window), append(d.Masks, mask)
}

func (d *Decoder) Vocab() int { return d.Head.Out }

func (d *Decoder) NewPages(limit int64) *transformer.Pages {
	p, err := transformer.NewPages(transformer.PagesConfig{Windows: d.Windows, Format: d.cacheFormat, Limit: max(limit, 0)})
	if err != nil {
		panic(err) // Options.check knows the formats
	}
	return p
}

// SetCacheFormat makes caches hold keys and values in a format.
func (d *Decoder) SetCacheFormat(f kernels.Format) {
	if d.cacheFormat = f; d.Next != nil {
		d.Next.cacheFormat = f
	}
}

// Predictor returns what predicts further tokens, nil if nothing does.
func (d *Decoder) Predictor() *Predictor { return d.Next }

// BothWays reports whether no token is hidden from those in front of it.
func (d *Decoder) BothWays() bool {
	return !slices.ContainsFunc(d.Masks, func(m *transformer.Mask) bool { return m != nil })
}

// HoldAdapters makes histories have adapters of these names.
func (d *Decoder) HoldAdapters(names []string) { d.adapters = names }

// RewritesHistory reports whether keys and values of earlier tokens depend on the length of the
// prompt or of the sequence, so that the first rows of a history are not those of a shorter text.
func (d *Decoder) RewritesHistory() bool { return d.ByLength }

// ReadsWhole reports whether each Soft has to pass through the decoder as a whole.
func (d *Decoder) ReadsWhole() bool { return d.Whole != nil }

// Adapter returns the number, for [transformer.History.Adapt], of the adapter with a name, and
// false if there is none.
func (d *Decoder) Adapter(name string) (number int, ok bool) {
	at := slices.Index(d.adapters, name)
	return at + 1, at >= 0
}

// AttendsToMemory reports whether the decoder attends to what an encoder gives.
func (d *Decoder) AttendsToMemory() bool {
	return slices.ContainsFunc(d.layers, func(l DecoderLayer) bool { return memoryBytes(l) > 0 })
}

func (d *Decoder) Hidden(ws *transformer.Workspace, dst []float32, tokens []int, batch transformer.Batch, memory *transformer.Memory, cache *transformer.Cache) error {
	if d.Frequencies != nil && cache != nil {
		return d.again(ws, dst, tokens, batch, memory, cache)
	}
	return d.pass(ws, dst, tokens, batch, nil, memory, cache, nil) // [rows, D]
}

// HiddenSoft is Hidden for tokens among which are placeholders of soft tokens.
func (d *Decoder) HiddenSoft(ws *transformer.Workspace, dst []float32, tokens []int, batch transformer.Batch, soft []transformer.Soft, cache *transformer.Cache) error {
	if d.Frequencies != nil {
		return check.Errorf(fault.ErrConfig, "soft tokens in a model whose frequencies depend on the length")
	}
	for _, s := range soft {
		if rows := len(s.X) / d.Dim(); len(s.X)%d.Dim() != 0 || s.At < 0 || rows > len(tokens) || s.At > len(tokens)-rows {
			return check.Errorf(fault.ErrShape, "%d elements of soft tokens at row %d of %d, want rows of %d", len(s.X), s.At, len(tokens), d.Dim())
		}
	}
	return d.pass(ws, dst, tokens, batch, soft, nil, cache, nil) // [rows, D]
}

// again is Hidden with a cache where all rows have the frequencies for the length of the sequence.
// With them the hidden states of all earlier tokens change, so that sequences whose frequencies are
// no longer those of their cache are computed from their start.
func (d *Decoder) again(ws *transformer.Workspace, dst []float32, tokens []int, batch transformer.Batch, memory *transformer.Memory, cache *transformer.Cache) error {
	if err := d.check(dst, transformer.Tokens{IDs: tokens, Batch: batch}, cache); err != nil {
		return err
	}
	all, lengths := make([]int, 0, len(tokens)), make([]int, batch.Len())
	for i := range batch.Len() {
		added, past := tokens[batch.Start(i):batch.Start(i+1)], cache.Remembered(i)
		if len(added) > 0 && len(past) > 0 && (cache.Len(i) != len(past) || !slices.Equal(d.Frequencies(len(past)), d.Frequencies(len(past)+len(added)))) {
			if err := cache.Restart(i, len(past)+len(added)); err != nil {
				return err
			}
			all, lengths[i] = append(all, past...), len(past)
		}
		all, lengths[i] = append(all, added...), lengths[i]+len(added)
	}
	if len(all) == len(tokens) {
		if err := d.pass(ws, dst, tokens, batch, nil, memory, cache, nil); err != nil { // [rows, D]
			return err
		}
	} else {
		defer ws.Release(ws.Mark())
		dim, whole := d.Dim(), transformer.Ragged(lengths...)
		x := ws.Alloc(len(all) * dim)                                              // [rows from the start, D]
		if err := d.pass(ws, x, all, whole, nil, memory, cache, nil); err != nil { // [rows from the start, D]
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

// pass is Hidden of tokens that follow those in cache. The vectors of soft tokens have no learned
// positions added to them. watched, which may be nil, receives weights of cross-attention.
func (d *Decoder) pass(ws *transformer.Workspace, dst []float32, tokens []int, batch transformer.Batch, soft []transformer.Soft, memory *transformer.Memory, cache *transformer.Cache, watched *crossWeights) error {
	tokens = d.instead(tokens)
	if err := d.Embed(ws, dst, transformer.Tokens{IDs: tokens, Batch: batch}, cache); err != nil { // [rows, D]
		return err
	}
	for _, s := range soft {
		copy(dst[s.At*d.Dim():], s.X)
	}
	ws.Adapt(batch, cache, len(d.adapters))
	defer ws.Unadapt()
	if err := cache.Begin(batch, len(d.layers)); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	in := transformer.LayerInput{X: dst, Batch: batch}
	if d.Kept > 0 {
		in.Kept = make([]transformer.Kept, d.Kept)
	}
	var beside []float32 // [layers, rows, P]
	if d.Beside != nil {
		beside = ws.Alloc(len(d.layers) * len(tokens) * d.Beside.Width)
		if err := d.Beside.Forward(ws, beside, tokens, dst); err != nil {
			return err
		}
	}
	x := dst
	if d.Streams != nil {
		x = ws.Alloc(d.Streams.Count() * len(dst)) // [streams, rows, D]
		if err := d.Streams.Open(ws, x, dst); err != nil {
			return err
		}
		in.X = x
	}
	if memory != nil {
		in.Memory, in.MemoryBatch, in.MemoryMask = memory.X, memory.Batch, memory.Mask
	}
	if d.Axes {
		var err error
		if in.Positions, err = cache.Positions(batch, soft, d.Dim()); err != nil {
			return err
		}
	}
	bias := d.Bias.mask(ws, batch, cache) // [1 or sequences, heads, queries, keys]
	var spans []transformer.Span
	if d.Whole != nil {
		for _, s := range soft {
			spans = append(spans, transformer.Span{From: s.At, To: s.At + len(s.X)/d.Dim()})
		}
	}
	for i, l := range d.layers {
		if in.Mask = d.Masks[i].And(bias); spans != nil && d.Whole[i] {
			in.Mask = in.Mask.Joined(spans...)
		}
		if d.Beside != nil {
			size := len(tokens) * d.Beside.Width
			in.Beside = beside[i*size : (i+1)*size] // [rows, P]
		}
		in.CrossWeights = watched.of(i, l)
		if err := l.Forward(ws, x, in, cache.Layer(i)); err != nil { // [rows, D], or [streams, rows, D]
			return err
		}
		watched.keep(i)
	}
	cache.End(batch)
	if d.Streams != nil {
		if err := d.Streams.Close(ws, dst, x); err != nil { // [rows, D]
			return err
		}
	}
	if d.Norm == nil {
		return nil
	}
	return d.Norm.Forward(ws, dst, dst) // [rows, D]
}

// A CrossHead is a head of the cross-attention of a layer.
type CrossHead struct{ Layer, Head int }

// crossWeights collects the weights of heads in a pass.
type crossWeights struct {
	heads   []CrossHead
	weights []float32 // [heads, size]
	layer   []float32 // [all heads of a layer, size]
	size    int       // of the weights of a head
}

// of returns the memory for the weights of layer i, nil if none of the heads is in it.
func (w *crossWeights) of(i int, l DecoderLayer) []float32 {
	if w == nil || !slices.ContainsFunc(w.heads, func(h CrossHead) bool { return h.Layer == i }) {
		return nil
	}
	return w.layer[:l.(*transformer.Layer).Cross.Heads*w.size]
}

// keep copies the weights of the heads of a layer.
func (w *crossWeights) keep(layer int) {
	if w == nil {
		return
	}
	for i, h := range w.heads {
		if h.Layer == layer {
			copy(w.weights[i*w.size:(i+1)*w.size], w.layer[h.Head*w.size:])
		}
	}
}

// instead is tokens as they enter.
func (d *Decoder) instead(tokens []int) []int {
	var own []int
	for i, t := range tokens {
		if as, ok := d.Instead[t]; ok {
			if own == nil {
				own = slices.Clone(tokens)
			}
			own[i] = as
		}
	}
	if own == nil {
		return tokens
	}
	return own
}

func (d *Decoder) Logits(ws *transformer.Workspace, dst, x []float32) error {
	if err := d.Head.Forward(ws, dst, x); err != nil { // [rows, V]
		return err
	}
	if d.Scale != 0 {
		ws.Threads.Scale(dst, dst, d.Scale)
	}
	if d.Cap > 0 {
		softCap(ws, dst, d.Cap)
	}
	return nil
}

// softCap bounds x smoothly to ±limit.
func softCap(ws *transformer.Workspace, x []float32, limit float32) {
	ws.Threads.Scale(x, x, 1/limit)
	ws.Threads.Tanh(x, x)
	ws.Threads.Scale(x, x, limit)
}

// causal is shared by the layers without a window.
var causal = transformer.Causal()

// HistoryBytes is what the histories of a decoder take.
type HistoryBytes struct {
	State     int64 // of each text, whatever its length: the states of recurrent layers
	Token     int64 // of each token
	Text      int64 // of a text of a length, its state included
	MemoryRow int64 // of each row of an encoder's memory
}

// HistoryBytes returns the memory of histories, whose texts have the given length; 0: no limit.
func (d *Decoder) HistoryBytes(length int) HistoryBytes {
	var b HistoryBytes
	layers, windows := d.layers, d.Windows
	if d.Next != nil {
		layers, windows = append(slices.Clip(layers), d.Next.Layer), append(slices.Clip(windows), 0)
	}
	for i, l := range layers {
		rows := length
		if w := windows[i]; w > 0 {
			rows = min(rows, w+transformer.PageRows) // of the page that begins the window, some are seen no more
		}
		n := l.CacheBytes(d.cacheFormat)
		b.Token += n
		b.Text += n * int64((rows+transformer.PageRows-1)/transformer.PageRows*transformer.PageRows)
		b.MemoryRow += memoryBytes(l)
		if r, ok := l.(recurrentLayer); ok {
			b.State += r.StateBytes()
		}
	}
	if length > 0 {
		b.Text += b.State
	}
	return b
}
