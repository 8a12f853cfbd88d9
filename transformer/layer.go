package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// LayerConfig describes a layer: self-attention, optionally cross-attention, and a feed-forward
// network, each with a normalization and a residual connection.
type LayerConfig struct {
	Self AttentionConfig
	// Cross, unless nil, makes a decoder layer. Its KeyWidth is the width of the memory.
	Cross       *AttentionConfig
	FeedForward FeedForwardConfig
	// Feed, unless nil, loads the part that replaces FeedForward, which is then ignored. l is the
	// layer's loader, which collects errors about the weights.
	Feed func(l *Loader) Feed
	Norm NormConfig // Shape may be left out: {Dim}
	// NormFirst normalizes the input of each part (pre-norm) instead of the sum after it
	// (post-norm).
	NormFirst bool
}

func (c LayerConfig) withDefaults() (LayerConfig, error) {
	var err error
	if c.Self, err = c.Self.withDefaults(); err != nil {
		return c, err
	}
	if c.Self.OutDim != c.Self.Dim {
		return c, check.Errorf(fault.ErrConfig, "layer: attention from width %d to %d", c.Self.Dim, c.Self.OutDim)
	}
	if c.Cross != nil {
		cross, err := c.Cross.withDefaults()
		if err != nil {
			return c, err
		}
		cross.CrossOnly = true
		if cross.Dim != c.Self.Dim || cross.OutDim != c.Self.Dim {
			return c, check.Errorf(fault.ErrConfig, "layer: cross-attention from width %d to %d, want %d", cross.Dim, cross.OutDim, c.Self.Dim)
		}
		c.Cross = &cross
	}
	if c.Feed == nil {
		if c.FeedForward, err = c.FeedForward.within(c.Self.Dim); err != nil {
			return c, err
		}
	}
	if len(c.Norm.Shape) == 0 {
		c.Norm.Shape = []int{c.Self.Dim}
	}
	if c.Norm.Shape[len(c.Norm.Shape)-1] != c.Self.Dim {
		return c, check.Errorf(fault.ErrConfig, "layer: normalization of shape %v, want the last size to be %d", c.Norm.Shape, c.Self.Dim)
	}
	return c, c.Norm.check()
}

// Layer is a layer of an encoder or, with cross-attention, of a decoder.
//
//	post-norm: x = SelfNorm(x + Self(x));   x = CrossNorm(x + Cross(x, memory)); y = FeedNorm(x + Feed(x))
//	pre-norm:  x = x + Self(SelfNorm(x));   x = x + Cross(CrossNorm(x), memory); y = x + Feed(FeedNorm(x))
type Layer struct {
	Dim       int
	NormFirst bool
	Self      *MultiHeadAttention
	SelfNorm  *Norm
	// Cross is nil in an encoder layer. A copy of a decoder layer without it is one too, as BLIP's
	// layers are in text mode.
	Cross     *MultiHeadAttention
	CrossNorm *Norm
	Feed      Feed
	FeedNorm  *Norm
	name      string
}

// NewLayer takes the weights with the given names under prefix, which ends with a dot unless it is
// empty.
func NewLayer(c LayerConfig, names LayerNames, w Weights, prefix string) (*Layer, error) {
	return load(w, prefix, func(l *Loader) *Layer { return l.Layer(c, names) })
}

// Layer returns the layer whose weights have the given names.
func (l *Loader) Layer(c LayerConfig, names LayerNames) *Layer {
	c, err := c.withDefaults()
	if l.Fail(err) {
		return nil
	}
	layer := &Layer{
		Dim: c.Self.Dim, NormFirst: c.NormFirst, name: l.Name(),
		Self:     l.At(names.Self).Attention(c.Self, names.Attention),
		SelfNorm: l.At(names.SelfNorm).Norm(c.Norm),
		FeedNorm: l.At(names.FeedNorm).Norm(c.Norm),
	}
	if c.Feed != nil {
		layer.Feed = c.Feed(l)
	} else {
		layer.Feed = l.FeedForward(c.FeedForward, names.Feed)
	}
	if c.Cross != nil {
		layer.Cross = l.At(names.Cross).Attention(*c.Cross, names.Attention)
		layer.CrossNorm = l.At(names.CrossNorm).Norm(c.Norm)
	}
	return layer
}

// CacheBytes returns the memory of the keys and values that a cache keeps for a row, in pages of
// the given format.
func (l *Layer) CacheBytes(f kernels.Format) int64 { return l.Self.CacheBytes(f) }

// MemoryBytes returns the memory of the keys and values that a cache keeps for a row of
// LayerInput.Memory, in float32: 0 without cross-attention.
func (l *Layer) MemoryBytes() int64 {
	if l.Cross == nil {
		return 0
	}
	return l.Cross.CacheBytes(kernels.FormatF32)
}

// LayerInput has the operands of a layer or a stack of layers.
type LayerInput struct {
	X         []float32 // [rows of Batch, Dim]
	Batch     Batch
	Positions []Position // [rows of Batch], for self-attention: see [AttentionInput]
	Mask      *Mask      // for self-attention
	HeadMask  []float32  // [heads], for all attentions: see [AttentionInput]

	// Memory has the rows that cross-attention attends to: the output of an encoder, [rows of
	// MemoryBatch, KeyWidth], with as many sequences as Batch, or one that all share. It is not
	// read where a cache holds its keys and values.
	Memory      []float32
	MemoryBatch Batch
	MemoryMask  *Mask
	// CrossWeights, unless nil, receives the weights of cross-attention, as Weights of
	// [AttentionInput] does.
	CrossWeights []float32
	// Kept has the keys and values that layers share in a pass. Layers of package transformer do
	// not use it.
	Kept []Kept
	// Beside, [rows, a width of the layer's own], is the layer's input in addition to X. Layers of
	// package transformer do not use it.
	Beside []float32
}

// Forward sets dst, [rows, Dim], to the layer's output. dst may be in.X.
//
// Trace reports "after_self" and "after_cross", the rows after each attention with its residual
// and, in post-norm, its normalization, and the output under the layer's own name. cache is nil, or
// the layer's part of one.
func (l *Layer) Forward(ws *Workspace, dst []float32, in LayerInput, cache *LayerCache) error {
	if l == nil || l.Dim == 0 || l.Feed == nil {
		return check.Errorf(fault.ErrConfig, "layer that NewLayer did not make")
	}
	if err := ws.check(); err != nil {
		return err
	}
	rows := in.Batch.Rows()
	if err := check.Len("layer: x", in.X, rows*l.Dim, "rows*dim"); err != nil {
		return err
	}
	if err := check.Len("layer: dst", dst, rows*l.Dim, "rows*dim"); err != nil {
		return err
	}
	if length := l.SelfNorm.size / l.Dim; length > 1 { // rows that are normalized together are those of a sequence
		for i := range in.Batch.Len() {
			if n := in.Batch.Length(i); n%length != 0 {
				return check.Errorf(fault.ErrShape, "layer: normalization of %d rows together, sequence %d has %d", length, i, n)
			}
		}
	}
	cross, memory := l.Cross != nil, cache.Memory()
	if cross && in.Memory == nil && (memory == nil || !memory.remembers()) {
		return check.Errorf(fault.ErrShape, "layer: cross-attention without memory")
	}
	defer ws.Release(ws.Mark())
	h, norm := ws.Alloc(len(dst)), ws.Alloc(len(dst)) // [rows, D]

	x, to, err := l.enter(ws, h, in.X, norm, l.SelfNorm)
	if err != nil {
		return err
	}
	self := AttentionInput{Query: x, Batch: in.Batch, Positions: in.Positions, Mask: in.Mask, HeadMask: in.HeadMask, Residual: in.X}
	if err := l.Self.Forward(ws, to, self, cache); err != nil {
		return err
	}
	if err := l.leave(ws, h, norm, l.SelfNorm); err != nil {
		return err
	}
	ws.ReportRows(l.name, "after_self", h, in.Batch, l.Dim)

	if cross {
		before := h
		if l.NormFirst { // where the result is written while before is still added
			h = ws.Alloc(len(dst))
		}
		if x, to, err = l.enter(ws, h, before, norm, l.CrossNorm); err != nil {
			return err
		}
		cross := AttentionInput{Query: x, Batch: in.Batch, Key: in.Memory, KeyBatch: in.MemoryBatch, Mask: in.MemoryMask, HeadMask: in.HeadMask, Residual: before, Weights: in.CrossWeights}
		if err := l.Cross.Forward(ws, to, cross, memory); err != nil {
			return err
		}
		if err := l.leave(ws, h, norm, l.CrossNorm); err != nil {
			return err
		}
		ws.ReportRows(l.name, "after_cross", h, in.Batch, l.Dim)
	}

	if x, to, err = l.enter(ws, dst, h, norm, l.FeedNorm); err != nil {
		return err
	}
	if err := l.Feed.Forward(ws, to, x, h); err != nil {
		return err
	}
	if err := l.leave(ws, dst, norm, l.FeedNorm); err != nil {
		return err
	}
	ws.ReportRows(l.name, "", dst, in.Batch, l.Dim)
	return nil
}

// enter begins a part of the layer. The part computes a result from the rows in, adds the rows
// before, and writes the sum to to. In pre-norm, in is before, normalized, and to is dst. In
// post-norm, in is before itself, and to is norm, which leave normalizes. dst may be before only in
// post-norm; norm is scratch memory of their size.
func (l *Layer) enter(ws *Workspace, dst, before, norm []float32, n *Norm) (in, to []float32, err error) {
	if l.NormFirst {
		return norm, dst, n.Forward(ws, norm, before)
	}
	return before, norm, nil
}

// leave ends a part of the layer and sets dst to its result.
func (l *Layer) leave(ws *Workspace, dst, norm []float32, n *Norm) error {
	if l.NormFirst {
		return nil
	}
	return n.Forward(ws, dst, norm)
}
