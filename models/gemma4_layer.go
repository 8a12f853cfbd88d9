package models

import (
	"math"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// The parts of Gemma 4's layers.

// perLayerMix adds to the rows what a layer makes of its per-layer embeddings:
// norm(project(activation(gate(x)) * embeddings)).
type perLayerMix struct {
	gate, project *transformer.Linear // from D to P, and from P to D
	norm          *transformer.Norm
	act           func(t kernels.Threads, x []float32)
}

// loadPerLayerMix takes the tensors of a layer's part with per-layer embeddings of a width.
func loadPerLayerMix(l *transformer.Loader, c transformer.LayerConfig, width int) *perLayerMix {
	c.Norm.Shape = []int{c.Self.Dim}
	return &perLayerMix{
		gate:    l.At("per_layer_input_gate.").Linear(c.Self.Dim, width, false),
		project: l.At("per_layer_projection.").Linear(width, c.Self.Dim, false),
		norm:    l.At("post_per_layer_input_norm.").Norm(c.Norm),
		act:     block.Activate(c.FeedForward.Activation),
	}
}

// Forward sets dst, [rows, D], to what is added for x, [rows, D], and the embeddings of the layer,
// [rows, P].
func (p *perLayerMix) Forward(ws *Workspace, dst, x, embeddings []float32) error {
	defer ws.Release(ws.Mark())
	g := ws.Alloc(len(embeddings))                   // [rows, P]
	if err := p.gate.Forward(ws, g, x); err != nil { // g = gate(x)  [rows, P]
		return err
	}
	p.act(ws.Threads, g)
	ws.Threads.Mul(g, g, embeddings)                      // g = activation(g) * embeddings  [rows, P]
	if err := p.project.Forward(ws, dst, g); err != nil { // dst = project(g)  [rows, D]
		return err
	}
	return p.norm.Forward(ws, dst, dst) // [rows, D]
}

// gemma4Layer is a layer of Gemma 3 that ends with per-layer embeddings and a factor.
type gemma4Layer struct {
	*block.Layer
	mix   *perLayerMix // nil: none
	scale []float32    // [1]
}

// Forward sets dst, [rows, D], to the layer's output for in.X, which may be dst.
func (l *gemma4Layer) Forward(ws *Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	if err := l.Layer.Forward(ws, dst, in, cache); err != nil { // [rows, D]
		return err
	}
	if l.mix != nil {
		defer ws.Release(ws.Mark())
		y := ws.Alloc(len(dst))
		if err := l.mix.Forward(ws, y, dst, in.Beside); err != nil { // [rows, D]
			return err
		}
		ws.Threads.Add(dst, dst, y) // dst += y  [rows, D]
	}
	if len(l.scale) > 0 && l.scale[0] != 1 {
		ws.Threads.Scale(dst, dst, l.scale[0])
	}
	return nil
}

// layer loads a layer, whose part with per-layer embeddings has its tensors in mix.
func (f *gemma4Fields) layer(l, mix *transformer.Loader, c transformer.LayerConfig) *gemma4Layer {
	names := gemma2LayerNames
	if c.Feed != nil { // a mixture, which has a normalization of its own
		names.FeedNorm = ""
	}
	layer := &gemma4Layer{Layer: block.LoadLayer(l, c, names), scale: l.Tensor("layer_scalar", 1)}
	if f.PerLayer > 0 {
		layer.mix = loadPerLayerMix(mix, c, f.PerLayer)
	}
	return layer
}

// loadPerLayer loads the part that makes per-layer embeddings of a width, without their table.
func loadPerLayer(l *transformer.Loader, dim, layers, width int, eps float32) *block.PerLayer {
	return &block.PerLayer{
		Layers: layers, Width: width,
		Project: l.At("per_layer_model_projection.").Linear(dim, layers*width, false),
		Norm:    l.At("per_layer_projection_norm.").Norm(transformer.NormConfig{Shape: []int{width}, Eps: eps, RMS: true}),
	}
}

// gemma4Feed is a feed-forward network in parallel with a mixture of experts. Its input is not
// normalized; each of the two normalizes what it takes and what it gives.
type gemma4Feed struct {
	norm, postNorm             *transformer.Norm
	feed                       *transformer.FeedForward
	expertNorm, expertPostNorm *transformer.Norm
	routerNorm                 *transformer.Norm // whose weight is that of the router, scaled
	mixture                    *transformer.Mixture
}

// gemma4Experts are the names of the experts.
var gemma4Experts = transformer.MixtureNames{
	Router: "router.proj.", Scale: "router.per_expert_scale", All: "experts.",
	Expert: transformer.FeedForwardNames{Packed: "gate_up_proj.", Gate: "gate_proj.", Up: "up_proj.", Down: "down_proj."}, // gate and up may be apart in GGUF files
}

// loadGemma4Feed takes the tensors of both.
func loadGemma4Feed(l *transformer.Loader, c transformer.LayerConfig, experts transformer.MixtureConfig) transformer.Feed {
	norm := transformer.NormConfig{Shape: []int{c.Self.Dim}, Eps: c.Norm.Eps, RMS: true}
	bare := norm
	bare.NoWeight = true
	f := &gemma4Feed{
		norm: l.At("pre_feedforward_layernorm.").Norm(norm), postNorm: l.At("post_feedforward_layernorm_1.").Norm(norm),
		feed:       l.FeedForward(c.FeedForward, llamaLayer.Feed),
		expertNorm: l.At("pre_feedforward_layernorm_2.").Norm(norm), expertPostNorm: l.At("post_feedforward_layernorm_2.").Norm(norm),
		routerNorm: l.Norm(bare), mixture: l.Mixture(experts, gemma4Experts),
	}
	if scale := l.Tensor("router.scale", c.Self.Dim); !l.Failed() {
		for i, s := range scale {
			f.routerNorm.Weight[i] = s / float32(math.Sqrt(float64(c.Self.Dim)))
		}
	}
	return f
}

// Forward sets dst, [rows, D], to the sum at x, [rows, D], plus residual, nil or [rows, D].
func (f *gemma4Feed) Forward(ws *Workspace, dst, x, residual []float32) error {
	defer ws.Release(ws.Mark())
	y, normed, by := ws.Alloc(len(x)), ws.Alloc(len(x)), ws.Alloc(len(x)) // [rows, D]
	if err := f.norm.Forward(ws, normed, x); err != nil {                 // normed = norm(x)
		return err
	}
	if err := f.feed.Forward(ws, y, normed, nil); err != nil { // y = feed(normed)
		return err
	}
	if err := f.postNorm.Forward(ws, y, y); err != nil { // y = norm(y)
		return err
	}
	if err := f.expertNorm.Forward(ws, normed, x); err != nil { // normed = norm(x)
		return err
	}
	if err := f.routerNorm.Forward(ws, by, x); err != nil { // by = norm(x)
		return err
	}
	if err := f.mixture.ForwardBy(ws, dst, normed, by, nil); err != nil { // dst = experts(normed)
		return err
	}
	if err := f.expertPostNorm.Forward(ws, dst, dst); err != nil { // dst = norm(dst)
		return err
	}
	ws.Threads.Add(dst, y, dst) // dst += y
	if residual != nil {
		ws.Threads.Add(dst, dst, residual)
	}
	return nil
}
