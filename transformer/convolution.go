package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// ShortConvolution is a gated convolution over the rows of a sequence, channel by channel: Out(C *
// convolution(B * X)). In computes B, C and X side by side. A row is mixed with the few rows before
// it; rows before the first are zeros (Liquid AI, 2025, "LFM2 Technical Report").
type ShortConvolution struct {
	In, Out *Linear   // from Dim to 3*Dim, and from Dim to Dim
	Weight  []float32 // [taps, Dim], of which the last tap is for the row itself
	Bias    []float32 // [Dim], or nil
}

// ShortConvolution returns the convolution with the tensors in_proj, conv and out_proj, each with a
// bias if bias is set. taps is the number of rows that it mixes: the row itself and those before
// it.
func (l *Loader) ShortConvolution(dim, taps int, bias bool) *ShortConvolution {
	if l.Fail(check.Positive("convolution", check.Size("dim", dim), check.Size("taps", taps))) {
		return nil
	}
	return &ShortConvolution{
		In: l.At("in_proj.").Linear(dim, 3*dim, bias), Out: l.At("out_proj.").Linear(dim, dim, bias),
		Weight: l.taps("conv.weight", dim, taps), Bias: l.Optional(bias, "conv.bias", dim),
	}
}

// Forward sets dst, [rows of batch, Dim], to the convolution of x, [rows, Dim]. cache is nil or the
// layer's part of a cache, which stores the rows B*X in the way of keys: with a window of as many
// rows as there are taps, it forgets the rows that no later row is mixed with. dst may be x.
func (c *ShortConvolution) Forward(ws *Workspace, dst, x []float32, batch Batch, cache *LayerCache) error {
	if c == nil || c.In == nil || c.Out == nil {
		return check.Errorf(fault.ErrConfig, "convolution without projections")
	}
	if err := ws.check(); err != nil {
		return err
	}
	dim, rows := c.In.In, batch.Rows()
	taps := len(c.Weight) / max(dim, 1)
	if dim < 1 || c.In.Out != 3*dim || c.Out.In != dim || c.Out.Out != dim || taps < 1 || len(c.Weight) != taps*dim || c.Bias != nil && len(c.Bias) != dim {
		return check.Errorf(fault.ErrShape, "convolution: projections of %d to %d and of %d, a weight of %d and a bias of %d elements", dim, c.In.Out, c.Out.In, len(c.Weight), len(c.Bias))
	}
	if err := check.Len("convolution: x", x, rows*dim, "rows*dim"); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	bcx, mixed := ws.Alloc(rows*3*dim), ws.Alloc(rows*dim)
	if err := c.In.Forward(ws, bcx, x); err != nil { // [rows, B, C and X of Dim each]
		return err
	}
	u := ws.Alloc(rows * dim)
	for r := range rows {
		row := bcx[r*3*dim:][:3*dim]
		ws.Threads.Mul(u[r*dim:][:dim], row[:dim], row[2*dim:]) // u = B * X            [rows, D]
	}
	before := ws.Alloc((taps - 1) * dim) // the rows before those of a sequence of the batch
	for i := range batch.Len() {
		clear(before)
		if err := cache.inputs(before, i, taps-1, dim); err != nil {
			return err
		}
		from, to := batch.Start(i)*dim, batch.Start(i+1)*dim
		c.mix(mixed[from:to], u[from:to], before)
	}
	cache.addInputs(batch, u, dim)
	for r := range rows {
		y := mixed[r*dim:][:dim]
		ws.Threads.Mul(y, y, bcx[r*3*dim+dim:][:dim]) // y = C * mixed        [rows, D]
	}
	return c.Out.Forward(ws, dst, mixed) // [rows, D]
}

// CacheBytes returns the memory of the inputs that a cache keeps for a row. They are in float32,
// whatever the format of its pages.
func (c *ShortConvolution) CacheBytes(kernels.Format) int64 { return 4 * int64(c.In.In) }

// mix sets dst, [rows, Dim], to the convolution of u, [rows, Dim]. before, [taps-1, Dim], has the
// rows that precede u.
func (c *ShortConvolution) mix(dst, u, before []float32) {
	dim := c.In.In
	past := len(before) / dim
	for r := range len(dst) / dim {
		y := dst[r*dim:][:dim]
		clear(y)
		copy(y, c.Bias)
		for tap := range past + 1 {
			x, at := before, r+tap
			if at >= past {
				x, at = u, at-past
			}
			x, weight := x[at*dim:][:dim], c.Weight[tap*dim:][:dim]
			for d := range y {
				y[d] += float32(weight[d] * x[d])
			}
		}
	}
}
