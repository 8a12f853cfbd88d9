package models

import (
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
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

// decoderModel is the model of the decoder d with the head that the architecture names: the
// embedding itself to logits where the checkpoint ties the two; a classifier of each text
// by its last token that is no padding, or of each token; or none.
func (c *Checkpoint) decoderModel(d *decoder, tied bool) (*Model, error) {
	m, err := c.decoderHead(d, tied)
	_, said := c.JSON.fields["is_causal"] // settle reads it, since a language model must not have it
	if err == nil && m.LM == nil && said && c.JSON.empty("is_causal") && !slices.ContainsFunc(d.windows, func(w int) bool { return w > 0 }) {
		clear(d.masks) // of embedding models; with windows it is an error
	}
	return m, err
}

// decoderHead is the model by what its architecture's name says of the head.
func (c *Checkpoint) decoderHead(d *decoder, tied bool) (*Model, error) {
	lm := c.Loader.Under("weight", "lm_head.", "embed_out.")        // the latter for GPT-NeoX's
	classifier := c.Loader.Under("weight", "score.", "classifier.") // the latter for GPT-2's of tokens
	labels := func() *transformer.Linear {
		return c.classify(classifier, d.tokens.Dim, classifier.Has("bias"))
	}
	switch c.Config.Head() {
	case "ForCausalLM", "LMHeadModel":
		if bare := c.Loader.Has("embed_tokens.weight"); bare && !tied && !lm.Has("weight") {
			return &Model{Encoder: causalEncoder{d}}, nil // embedding models are published so
		}
		if tied {
			d.head = lm.Tied(d.tokens, nil)
		} else {
			d.head = lm.Linear(d.tokens.Dim, d.tokens.Vocab, false)
		}
		return &Model{LM: d}, nil
	case "Model":
		return &Model{Encoder: causalEncoder{d}}, nil
	case "ForSequenceClassification":
		pool, err := c.poolBeforePadding()
		return &Model{Encoder: causalEncoder{d}, Classifier: &head{pool: pool, out: labels()}}, err
	case "ForTokenClassification":
		const field = "token_classification_bias" // absent: true
		if (c.JSON.Has(field) || c.JSON.isNull(field)) && c.JSON.empty(field) && c.Loader.Has("score.bias") {
			return nil, c.JSON.Errorf(field, "but the checkpoint has score.bias")
		}
		return &Model{Encoder: causalEncoder{d}, TokenClassifier: &head{out: labels()}}, nil
	}
	return nil, c.unknownHead()
}

// poolBeforePadding takes the last token of a text that is not pad_token_id, wherever in the text
// that stands, as transformers does; the last of all where there is no such token.
func (c *Checkpoint) poolBeforePadding() (pooling, error) {
	pad := struct {
		Token int `json:"pad_token_id" min:"-1"`
	}{-1}
	if initial, ok := c.JSON.initial("pad_token_id"); ok && !c.JSON.isNull("pad_token_id") {
		if err := pyjson.Unmarshal([]byte(initial), &pad.Token); err != nil { // null leaves it
			return nil, err
		}
	}
	err := c.JSON.Decode(&pad)
	return poolAt(lastBut(pad.Token)), err
}

// causalEncoder is a decoder as an encoder, whose tokens see those in front of them.
type causalEncoder struct{ *decoder }

// bothWays tells that no token is hidden from those in front of it.
func (e causalEncoder) bothWays() bool {
	return !slices.ContainsFunc(e.masks, func(m *transformer.Mask) bool { return m != nil })
}

func (e causalEncoder) Encode(ws *Workspace, dst []float32, in Tokens) error {
	if in.Types != nil {
		return check.Errorf(transformer.ErrShape, "this model has no types of tokens")
	}
	return e.Hidden(ws, dst, in.IDs, in.Batch, nil, nil) // [rows, D]
}

// windowFields are the fields of config.json that tell; see [Checkpoint.windows].
type windowFields struct {
	Window     int      `json:"sliding_window" min:"0"` // 0: null
	LayerTypes []string `json:"layer_types"`
}

// The values of layer_types.
const (
	fullAttention    = "full_attention"
	slidingAttention = "sliding_attention"
)

// windows is the window of each layer, 0 where it has none. slides tells which have one
// where layer_types does not; without a size of the window none has.
func (c *Checkpoint) windows(f windowFields, layers int, slides func(layer int) bool) (func(layer int) int, error) {
	if f.LayerTypes != nil {
		if err := c.JSON.layerTypes(f.LayerTypes, layers); err != nil {
			return nil, err
		}
	}
	if f.Window == 0 && slices.Contains(f.LayerTypes, slidingAttention) {
		return nil, c.JSON.Errorf("layer_types", "%s without the size of a window", slidingAttention)
	}
	return func(i int) int {
		if f.LayerTypes != nil && f.LayerTypes[i] == slidingAttention || f.LayerTypes == nil && slides(i) {
			return f.Window
		}
		return 0
	}, nil
}

// layerTypes returns an error unless layer_types has a known kind for each layer.
func (d Document) layerTypes(kinds []string, layers int) error {
	if len(kinds) != layers {
		return d.Errorf("layer_types", "want %d values, as many as layers", layers)
	}
	for _, kind := range kinds {
		if kind != fullAttention && kind != slidingAttention {
			return d.Errorf("layer_types", "want %q and %q", fullAttention, slidingAttention)
		}
	}
	return nil
}

// noLM is the error of asking a model without one for what a language model does.
func (m *Model) noLM() error {
	return check.Errorf(transformer.ErrConfig, "%s is no language model", m.Config.ModelType)
}

// Logits sets dst, [rows, vocabulary], to the logits of the token after each token of a
// batch, with m.LM. The tokens follow those that cache holds, which may be nil, as
// memory may be.
func (m *Model) Logits(ws *Workspace, dst []float32, tokens []int, batch Batch, memory *Memory, cache *Cache) error {
	if m.LM == nil {
		return m.noLM()
	}
	if ws == nil {
		return check.Errorf(transformer.ErrConfig, "workspace is nil; pass new(Workspace)")
	}
	if len(dst) != batch.Rows()*m.LM.Vocab() {
		return check.Errorf(transformer.ErrShape, "logits have %d elements, want %d*%d (rows*vocabulary)", len(dst), batch.Rows(), m.LM.Vocab())
	}
	defer ws.Release(ws.Mark())
	x := ws.Alloc(batch.Rows() * m.LM.Dim())                                 // [rows, D]
	if err := m.LM.Hidden(ws, x, tokens, batch, memory, cache); err != nil { // [rows, D]
		return err
	}
	return m.LM.Logits(ws, dst, x) // [rows, V]
}
