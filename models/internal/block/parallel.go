package block

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Layers whose attention and feed-forward network work side by side, on the same input. Phi,
// GPT-NeoX and Cohere 2 have them.

// ParallelLayer adds to its input what attention and feed-forward network make of it, normalized.
type ParallelLayer struct {
	Norm      *transformer.Norm
	FeedNorm  *transformer.Norm // nil: norm is that of both
	Attention *transformer.MultiHeadAttention
	Feed      *transformer.FeedForward
}

func (l *ParallelLayer) CacheBytes(f kernels.Format) int64 { return l.Attention.CacheBytes(f) }

// Forward sets dst, [rows, D], to the layer's output for in.X.
func (l *ParallelLayer) Forward(ws *transformer.Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	defer ws.Release(ws.Mark())
	x := ws.Alloc(len(dst))                             // [rows, D]
	if err := l.Norm.Forward(ws, x, in.X); err != nil { // x = norm(in)  [rows, D]
		return err
	}
	y := x
	if l.FeedNorm != nil {
		y = ws.Alloc(len(dst))                                  // [rows, D]
		if err := l.FeedNorm.Forward(ws, y, in.X); err != nil { // y = feedNorm(in)  [rows, D]
			return err
		}
	}
	if err := l.Attention.Forward(ws, dst, transformer.AttentionInput{ // dst = in + attention(x)  [rows, D]
		Query: x, Batch: in.Batch, Mask: in.Mask, Residual: in.X,
	}, cache); err != nil {
		return err
	}
	return l.Feed.Forward(ws, dst, y, dst) // dst += feed(y)  [rows, D]
}
