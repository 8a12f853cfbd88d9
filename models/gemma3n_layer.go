package models

import (
	"math"

	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// The parts of Gemma 3n's layers.

// gemma3nLayer predicts all streams, computes one of them, and corrects all other streams.
type gemma3nLayer struct {
	altUp                                  block.AltUp
	norm, postNorm, feedNorm, feedPostNorm *transformer.Norm
	attention                              *transformer.MultiHeadAttention
	kept                                   int                 // see block.Layer
	left, right                            *transformer.Linear // of the learned augmented residual layer, from D to its rank and back
	laurelNorm                             *transformer.Norm
	feed                                   transformer.Feed
	mix                                    *perLayerMix
	scale                                  []float32 // of what enters mix, [D]; nil: none
}

// load loads a layer.
func (config *gemma3nConfig) load(l *transformer.Loader, c transformer.LayerConfig, sparsity float64) *gemma3nLayer {
	norm := c.Norm
	norm.Shape = []int{config.Dim}
	names := gemma2LayerNames
	altUp, laurel := l.At("altup."), l.At("laurel.")
	layer := &gemma3nLayer{
		altUp: block.AltUp{
			Streams: config.Streams, Active: config.Active, Norm: altUp.At("router_norm.").Norm(norm),
			Router:    altUp.At("modality_router.").RowByRow().Linear(config.Dim, config.Streams, false),
			Predictor: altUp.At("prediction_coefs.").RowByRow().Linear(config.Streams, config.Streams*config.Streams, false),
			Corrector: altUp.At("correction_coefs.").RowByRow().Linear(config.Streams, config.Streams, false),
		},
		norm: l.At(names.SelfNorm).Norm(norm), postNorm: l.At(names.PostNorm).Norm(norm),
		feedNorm: l.At(names.FeedNorm).Norm(norm), feedPostNorm: l.At(names.FeedPostNorm).Norm(norm),
		attention:  l.At(names.Self).Attention(c.Self, names.Attention),
		left:       laurel.At("linear_left.").Linear(config.Dim, config.LaurelRank, false),
		right:      laurel.At("linear_right.").Linear(config.LaurelRank, config.Dim, false),
		laurelNorm: laurel.At("post_laurel_norm.").Norm(norm),
		mix:        loadPerLayerMix(l, c, config.PerLayer),
		scale:      altUp.Tensor("correct_output_scale", config.Dim),
	}
	if !config.Corrects {
		layer.scale = nil
	}
	if !l.Failed() { // the router divides what enters it by D
		n := layer.altUp.Norm
		weight := make([]float32, len(n.Weight)) // those of a TensorMap are not ours
		kernels.Scale(weight, n.Weight, 1/float32(config.Dim))
		n.Weight = weight
	}
	c.FeedForward.Dim = config.Dim
	if sparsity > 0 {
		layer.feed = loadSparseFeed(l, c.FeedForward, sparsity)
	} else {
		layer.feed = l.FeedForward(c.FeedForward, names.Feed)
	}
	return layer
}

// CacheBytes returns the memory of a row in a cache.
func (l *gemma3nLayer) CacheBytes(f kernels.Format) int64 { return l.attention.CacheBytes(f) }

// Forward sets dst, [streams, rows, D], to the layer's output for in.X, which may be dst.
func (l *gemma3nLayer) Forward(ws *Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	defer ws.Release(ws.Mark())
	size := len(dst) / l.altUp.Streams                           // rows*D
	predicted, y := ws.Alloc(len(dst)), ws.Alloc(size)           // [streams, rows, D], [rows, D]
	if err := l.altUp.Predict(ws, predicted, in.X); err != nil { // predicted = in + combinations of in
		return err
	}
	active := predicted[l.altUp.Active*size:][:size]
	if err := l.compute(ws, y, active, in, cache); err != nil { // y = attention and feed-forward network of the active stream
		return err
	}
	if err := l.altUp.Correct(ws, predicted, y); err != nil { // predicted += coefficients * (y - active)
		return err
	}
	copy(dst, predicted)
	entered := active
	if l.scale != nil {
		entered = y
		for i := 0; i < size; i += len(l.scale) {
			kernels.Mul(y[i:][:len(l.scale)], active[i:][:len(l.scale)], l.scale) // y = active * scale
		}
	}
	first := predicted[:size]
	if err := l.mix.Forward(ws, first, entered, in.Beside); err != nil { // first = mix(entered, embeddings of the layer)  [rows, D]
		return err
	}
	for i := size; i < len(dst); i += size {
		ws.Threads.Add(dst[i:][:size], dst[i:][:size], first) // every stream but the first += first
	}
	return nil
}

// compute sets dst to what attention, the augmented residual layer and the feed-forward network
// make of x, both [rows, D].
func (l *gemma3nLayer) compute(ws *Workspace, dst, x []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	defer ws.Release(ws.Mark())
	normed, y := ws.Alloc(len(x)), ws.Alloc(len(x))       // [rows, D]
	if err := l.norm.Forward(ws, normed, x); err != nil { // normed = norm(x)
		return err
	}
	self := transformer.AttentionInput{Query: normed, Batch: in.Batch, Mask: in.Mask}
	if l.kept > 0 {
		self.Kept = &in.Kept[l.kept-1]
	}
	if err := l.attention.Forward(ws, dst, self, cache); err != nil { // dst = attention(normed)
		return err
	}
	if err := l.postNorm.Forward(ws, dst, dst); err != nil { // dst = norm(dst)
		return err
	}
	ws.Threads.Add(dst, dst, x)                     // dst += x
	if err := l.laurel(ws, y, normed); err != nil { // y = norm(right(left(normed)))
		return err
	}
	ws.Threads.Add(y, y, normed)
	ws.Threads.Add(dst, dst, y)
	ws.Threads.Scale(dst, dst, float32(1/math.Sqrt2))           // dst = (dst + y + normed) / sqrt(2)
	if err := l.feedNorm.Forward(ws, normed, dst); err != nil { // normed = norm(dst)
		return err
	}
	if err := l.feed.Forward(ws, y, normed, nil); err != nil { // y = feed(normed)
		return err
	}
	if err := l.feedPostNorm.Forward(ws, y, y); err != nil { // y = norm(y)
		return err
	}
	ws.Threads.Add(dst, dst, y) // dst += y
	return nil
}

// laurel sets dst to the learned part of the augmented residual layer at x, both [rows, D].
func (l *gemma3nLayer) laurel(ws *Workspace, dst, x []float32) error {
	defer ws.Release(ws.Mark())
	low := ws.Alloc(len(x) / l.left.In * l.left.Out)   // [rows, rank]
	if err := l.left.Forward(ws, low, x); err != nil { // low = left(x)
		return err
	}
	if err := l.right.Forward(ws, dst, low); err != nil { // dst = right(low)
		return err
	}
	return l.laurelNorm.Forward(ws, dst, dst)
}

// sparseFeed is a feed-forward network with a gate, of which only those activations of a row pass
// that are some deviations above the mean.
type sparseFeed struct {
	gate, up, down *transformer.Linear
	deviations     float32
	act            func(t kernels.Threads, x []float32)
}

// loadSparseFeed takes the tensors of a network in which a part of normally distributed activations
// would be 0.
func loadSparseFeed(l *transformer.Loader, c transformer.FeedForwardConfig, sparsity float64) *sparseFeed {
	names := llamaLayer.Feed
	return &sparseFeed{
		gate: l.At(names.Gate).Linear(c.Dim, c.Hidden, false), up: l.At(names.Up).Linear(c.Dim, c.Hidden, false), down: l.At(names.Down).Linear(c.Hidden, c.Dim, false),
		deviations: float32(math.Sqrt2 * elementary.Erfinv(2*sparsity-1)), // the quantile of the normal distribution
		act:        block.Activate(c.Activation),
	}
}

// Forward sets dst, [rows, D], to the network's value at x, [rows, D], plus residual, nil or [rows,
// D].
func (f *sparseFeed) Forward(ws *Workspace, dst, x, residual []float32) error {
	defer ws.Release(ws.Mark())
	rows, width := len(x)/f.gate.In, f.gate.Out
	g, u := ws.Alloc(rows*width), ws.Alloc(rows*width) // [rows, hidden]
	if err := f.gate.Forward(ws, g, x); err != nil {   // g = gate(x)
		return err
	}
	ws.Threads.Run(rows, 3*len(g), &cutting{g, width, f.deviations}) // g = max(g - cut, 0)
	f.act(ws.Threads, g)
	if err := f.up.Forward(ws, u, x); err != nil { // u = up(x)
		return err
	}
	ws.Threads.Mul(g, g, u)
	if err := f.down.Forward(ws, dst, g); err != nil { // dst = down(activation(g) * u)
		return err
	}
	if residual != nil {
		ws.Threads.Add(dst, dst, residual)
	}
	return nil
}

// cutting subtracts from each row its mean and some of its deviations, and leaves 0 in place of
// what is negative: a task of kernels.Threads.Run whose parts are rows.
type cutting struct {
	x          []float32 // [rows, width]
	width      int
	deviations float32
}

func (c *cutting) Do(from, to int) {
	for r := from; r < to; r++ {
		row := c.x[r*c.width:][:c.width]
		n, mean, square := float64(c.width), 0.0, 0.0
		for _, v := range row {
			mean += float64(v)
		}
		mean /= n
		for _, v := range row {
			d := float64(v) - mean
			square += float64(d * d)
		}
		cut := float32(mean + float64(math.Sqrt(square/n)*float64(c.deviations)))
		for i, v := range row {
			row[i] = max(v-cut, 0)
		}
	}
}
