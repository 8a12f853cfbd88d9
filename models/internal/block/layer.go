package block

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Layers that normalize what leaves a part, or multiply it, before it is added, and layers with
// Mamba-2 in place of attention: what [transformer.Layer] lacks.

// Layer is attention, or Mamba-2, and then a feed-forward network. Each part may normalize what
// enters it, normalize what leaves it, and multiply that before it is added to the part's input. A
// layer may have one of the parts only.
type Layer struct {
	Norm, PostNorm         *transformer.Norm // of what enters attention and of what leaves it; nil: none
	Attention              *transformer.MultiHeadAttention
	Mamba                  *transformer.Mamba2 // in place of attention
	FeedNorm, FeedPostNorm *transformer.Norm   // the same of the feed-forward network
	Feed                   transformer.Feed
	Scale                  float32 // what leaves a part is multiplied by; 0: 1
	Kept                   int     // which of LayerInput.Kept attention leaves its keys and values in, or takes them from, counted from 1; 0: none
}

// LayerNames are the names of a layer's tensors. A normalization without a name does not exist.
type LayerNames struct {
	transformer.LayerNames
	PostNorm, FeedPostNorm string
}

// LoadLayer takes the tensors of a layer. All its normalizations are alike.
func LoadLayer(l *transformer.Loader, c transformer.LayerConfig, names LayerNames) *Layer {
	layer := loadNorms(l, c, names)
	layer.Attention = l.At(names.Self).Attention(c.Self, names.Attention)
	layer.loadFeed(l, c, names)
	return layer
}

// LoadMambaLayer takes the tensors of a layer with Mamba-2, under a prefix, in place of attention.
func LoadMambaLayer(l *transformer.Loader, c transformer.LayerConfig, names LayerNames, m transformer.Mamba2Config, prefix string) *Layer {
	layer := loadNorms(l, c, names)
	layer.Mamba = l.At(prefix).Mamba2(m)
	layer.loadFeed(l, c, names)
	return layer
}

// loadNorms returns a layer with its normalizations.
func loadNorms(l *transformer.Loader, c transformer.LayerConfig, names LayerNames) *Layer {
	c.Norm.Shape = []int{c.Self.Dim}
	norm := func(name string) *transformer.Norm {
		if name == "" {
			return nil
		}
		return l.At(name).Norm(c.Norm)
	}
	return &Layer{Norm: norm(names.SelfNorm), PostNorm: norm(names.PostNorm), FeedNorm: norm(names.FeedNorm), FeedPostNorm: norm(names.FeedPostNorm)}
}

// loadFeed takes the tensors of the feed-forward network.
func (layer *Layer) loadFeed(l *transformer.Loader, c transformer.LayerConfig, names LayerNames) {
	if c.Feed != nil {
		layer.Feed = c.Feed(l)
		return
	}
	c.FeedForward.Dim = c.Self.Dim
	layer.Feed = l.FeedForward(c.FeedForward, names.Feed)
}

// CacheBytes returns the memory of a row in a cache.
func (l *Layer) CacheBytes(f kernels.Format) int64 {
	if l.Attention == nil {
		return 0
	}
	return l.Attention.CacheBytes(f)
}

// StateBytes returns the memory of a sequence's state in a cache.
func (l *Layer) StateBytes() int64 {
	if l.Mamba == nil {
		return 0
	}
	return l.Mamba.StateBytes()
}

// Forward sets dst, [rows, D], to the layer's output for in.X, which may be dst.
func (l *Layer) Forward(ws *transformer.Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	defer ws.Release(ws.Mark())
	y := ws.Alloc(len(dst)) // [rows, D]
	var normed []float32    // [rows, D]
	if l.Norm != nil || l.FeedNorm != nil {
		normed = ws.Alloc(len(dst))
	}
	if l.Attention != nil || l.Mamba != nil {
		x, err := enter(ws, l.Norm, normed, in.X) // x = norm(in)  [rows, D]
		if err != nil {
			return err
		}
		if err := l.mix(ws, y, x, in, cache); err != nil { // y = attention(x)  [rows, D]
			return err
		}
		if err := l.leave(ws, l.PostNorm, y); err != nil { // y = norm(y)*scale  [rows, D]
			return err
		}
		ws.Threads.Add(dst, in.X, y) // dst = in + y  [rows, D]
		in.X = dst
	}
	if l.Feed == nil {
		return nil
	}
	x, err := enter(ws, l.FeedNorm, normed, in.X) // x = norm(in)  [rows, D]
	if err != nil {
		return err
	}
	if err := l.Feed.Forward(ws, y, x, nil); err != nil { // y = feed(x)  [rows, D]
		return err
	}
	if err := l.leave(ws, l.FeedPostNorm, y); err != nil { // y = norm(y)*scale  [rows, D]
		return err
	}
	ws.Threads.Add(dst, in.X, y) // dst = in + y  [rows, D]
	return nil
}

// mix sets y to what the part makes of x, both [rows, D], that mixes the rows of a sequence.
func (l *Layer) mix(ws *transformer.Workspace, y, x []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	if l.Mamba != nil {
		return l.Mamba.Forward(ws, y, x, in.Batch, cache)
	}
	self := transformer.AttentionInput{Query: x, Batch: in.Batch, Mask: in.Mask}
	if l.Kept > 0 {
		self.Kept = &in.Kept[l.Kept-1]
	}
	return l.Attention.Forward(ws, y, self, cache)
}

// enter is x normalized, in dst, or x itself without a normalization.
func enter(ws *transformer.Workspace, norm *transformer.Norm, dst, x []float32) ([]float32, error) {
	if norm == nil {
		return x, nil
	}
	return dst, norm.Forward(ws, dst, x)
}

// leave changes what leaves a part before it is added.
func (l *Layer) leave(ws *transformer.Workspace, norm *transformer.Norm, y []float32) error {
	if norm != nil {
		if err := norm.Forward(ws, y, y); err != nil {
			return err
		}
	}
	if l.Scale != 0 {
		ws.Threads.Scale(y, y, l.Scale)
	}
	return nil
}
