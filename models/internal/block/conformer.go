package block

import (
	"math"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Layers with attention and convolution.

// ConformerConfig is what the layers of a Conformer have in common.
type ConformerConfig struct {
	Dim, Heads, Hidden int
	Steps              int // of the convolution, an odd number
	Activation         kernels.Activation
	Bias               bool // of feed-forward networks and attention
	ConvolutionBias    bool
}

// Conformer is a layer of attention and convolution between two feed-forward networks, each of
// which adds half of its output (Gulati et al., 2020, "Conformer: Convolution-augmented Transformer
// for Speech Recognition").
type Conformer struct {
	before, after                                              *transformer.FeedForward
	attention                                                  *DistanceAttention
	convolution                                                *gatedConvolution
	normBefore, normAttention, normConvolution, normAfter, out *transformer.Norm
}

// LoadConformer takes the tensors of transformers' ParakeetEncoderBlock.
func LoadConformer(c ConformerConfig, l *transformer.Loader) *Conformer {
	norm := func(name string) *transformer.Norm {
		return l.At(name).Norm(transformer.NormConfig{Shape: []int{c.Dim}, Eps: 1e-5})
	}
	feed := transformer.FeedForwardConfig{Dim: c.Dim, OutDim: c.Dim, Hidden: c.Hidden, Activation: c.Activation, Bias: c.Bias, Chunk: feedRows}
	return &Conformer{
		before: loadHalf(feed, l.At("feed_forward1.")), after: loadHalf(feed, l.At("feed_forward2.")),
		attention:   LoadDistanceAttention(l.At("self_attn."), c.Dim, c.Heads, c.Bias),
		convolution: c.loadConvolution(l.At("conv.")),
		normBefore:  norm("norm_feed_forward1."), normAttention: norm("norm_self_att."), normConvolution: norm("norm_conv."),
		normAfter: norm("norm_feed_forward2."), out: norm("norm_out."),
	}
}

// feedRows is the number of rows that a feed-forward network computes at a time, which bounds its
// memory.
const feedRows = 1024

// loadHalf returns a feed-forward network whose result is halved.
func loadHalf(c transformer.FeedForwardConfig, l *transformer.Loader) *transformer.FeedForward {
	return &transformer.FeedForward{
		FeedForwardConfig: c,
		Up:                l.At("linear1.").Linear(c.Dim, c.Hidden, c.Bias),
		Down:              l.Stacked(c.Hidden, c.Bias, transformer.Part{Name: "linear2.", Rows: c.Dim, Scale: 0.5, BiasScale: 0.5}),
	}
}

// Distances sets dst, [distances, D], to what [Conformer.Forward] takes of the vectors of
// distances, [distances, D].
func (c *Conformer) Distances(ws *transformer.Workspace, dst, vectors []float32) error {
	return c.attention.Distance.Forward(ws, dst, vectors)
}

// Forward sets x, [rows, D], to the layer's result. distances are as for
// [DistanceAttention.Forward].
func (c *Conformer) Forward(ws *transformer.Workspace, x []float32, batch transformer.Batch, distances []float32) error {
	defer ws.Release(ws.Mark())
	normed := ws.Alloc(len(x)) // [rows, D]
	if err := c.normBefore.Forward(ws, normed, x); err != nil {
		return err
	}
	if err := c.before.Forward(ws, x, normed, x); err != nil { // x += feed-forward(norm(x)) / 2
		return err
	}
	if err := c.normAttention.Forward(ws, normed, x); err != nil {
		return err
	}
	if err := c.attention.Forward(ws, x, x, normed, batch, distances); err != nil { // x += attention(norm(x))
		return err
	}
	if err := c.normConvolution.Forward(ws, normed, x); err != nil {
		return err
	}
	if err := c.convolution.forward(ws, x, normed, batch); err != nil { // x += convolution(norm(x))
		return err
	}
	if err := c.normAfter.Forward(ws, normed, x); err != nil {
		return err
	}
	if err := c.after.Forward(ws, x, normed, x); err != nil { // x += feed-forward(norm(x)) / 2
		return err
	}
	return c.out.Forward(ws, x, x) // [rows, D]
}

// gatedConvolution is a depthwise convolution between two projections. The first projection has a
// gate.
type gatedConvolution struct {
	value, gate, out *transformer.Linear // [D, D]
	weight, bias     []float32           // [steps, D], [D]: with the batch normalization that follows
	act              func(t kernels.Threads, x []float32)
}

// loadConvolution takes the tensors of transformers' ParakeetEncoderConvolutionModule. A batch
// normalization is, after training, a factor and a bias for each channel.
func (c ConformerConfig) loadConvolution(l *transformer.Loader) *gatedConvolution {
	dim := c.Dim
	g := &gatedConvolution{bias: make([]float32, dim), act: Activate(c.Activation)}
	first, last, at, norm := l.At("pointwise_conv1."), l.At("pointwise_conv2."), l.At("depthwise_conv."), l.At("norm.")
	both, biases := first.Tensor("weight", 2*dim, dim, 1), first.Optional(c.ConvolutionBias, "bias", 2*dim)
	g.out = last.LinearOf(dim, dim, last.Tensor("weight", dim, dim, 1), last.Optional(c.ConvolutionBias, "bias", dim))
	weight, bias := at.Tensor("weight", dim, 1, c.Steps), at.Optional(c.ConvolutionBias, "bias", dim)
	factor, shift, mean, variance := norm.Tensor("weight", dim), norm.Tensor("bias", dim), norm.Tensor("running_mean", dim), norm.Tensor("running_var", dim)
	norm.Ignore("num_batches_tracked") // of training
	if l.Failed() {
		return g
	}
	var biasOf [2][]float32
	if biases != nil {
		biasOf = [2][]float32{biases[:dim], biases[dim:]}
	}
	g.value, g.gate = first.LinearOf(dim, dim, both[:dim*dim], biasOf[0]), first.LinearOf(dim, dim, both[dim*dim:], biasOf[1])
	g.weight = StepsFirst(weight, dim, c.Steps)
	for d := range dim {
		by, before := float64(factor[d])/math.Sqrt(float64(variance[d])+batchNormEps), 0.0
		if bias != nil {
			before = float64(bias[d])
		}
		g.bias[d] = float32(float64(shift[d]) + float64((before-float64(mean[d]))*by))
		for step := range c.Steps {
			g.weight[step*dim+d] = float32(float64(g.weight[step*dim+d]) * by)
		}
	}
	return g
}

// batchNormEps is added to the variance.
const batchNormEps = 1e-5

// forward adds to x, [rows, D], the convolution of normed, [rows, D], in each sequence.
func (g *gatedConvolution) forward(ws *transformer.Workspace, x, normed []float32, batch transformer.Batch) error {
	defer ws.Release(ws.Mark())
	value, gate := ws.Alloc(len(x)), ws.Alloc(len(x)) // [rows, D]
	if err := g.value.Forward(ws, value, normed); err != nil {
		return err
	}
	if err := g.gate.Forward(ws, gate, normed); err != nil {
		return err
	}
	ws.Threads.Sigmoid(gate, gate)
	ws.Threads.Mul(value, value, gate)
	mixed, dim := gate, len(g.bias)
	for i := range batch.Len() {
		from, to := batch.Start(i)*dim, batch.Start(i+1)*dim
		g.mix(ws, mixed[from:to], value[from:to])
	}
	g.act(ws.Threads, mixed)
	return g.out.ForwardAdd(ws, x, mixed, x)
}

// mix sets dst, [rows, D], to the depthwise convolution of x, [rows, D], with zeros before and
// after it.
func (g *gatedConvolution) mix(ws *transformer.Workspace, dst, x []float32) {
	defer ws.Release(ws.Mark())
	dim := len(g.bias)
	rows, steps, product := len(x)/dim, len(g.weight)/dim, ws.Alloc(dim)
	for r := range rows {
		y, first := dst[r*dim:][:dim], r-steps/2
		copy(y, g.bias)
		for step := max(0, -first); step < min(steps, rows-first); step++ {
			kernels.Mul(product, x[(first+step)*dim:][:dim], g.weight[step*dim:][:dim])
			kernels.Add(y, y, product)
		}
	}
}
