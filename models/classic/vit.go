package classic

import (
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// ViTConfig describes a vision transformer.
type ViTConfig struct {
	Height, Width           int // of the image
	PatchHeight, PatchWidth int
	Channels                int
	Dim, Heads, Layers      int
	FeedForward             int // hidden width of the MLP: mlp_ratio*Dim
	Activation              kernels.Activation
	Eps                     float32
	QKVBias                 bool
	Classes                 int // 0: no head
}

// BlockConfig returns the configuration of a block.
func (c ViTConfig) BlockConfig() transformer.LayerConfig {
	return transformer.LayerConfig{
		Self:        transformer.AttentionConfig{Dim: c.Dim, Heads: c.Heads, Bias: c.QKVBias, OutBias: true},
		FeedForward: transformer.FeedForwardConfig{Hidden: c.FeedForward, Activation: c.Activation, Bias: true},
		Norm:        transformer.NormConfig{Eps: c.Eps},
		NormFirst:   true,
	}
}

// Patches returns the number of patches of an image.
func (c ViTConfig) Patches() int {
	return c.Height / c.PatchHeight * (c.Width / c.PatchWidth)
}

// ViT is a vision transformer (Dosovitskiy et al., 2021): an image is cut into patches, which are
// projected to rows after that of a class token. Dropout and drop-path, as everywhere here, are the
// identity of inference.
type ViT struct {
	ViTConfig
	Patch     *transformer.Linear // [dim, channels*patch height*patch width], the convolution
	Class     []float32           // [D]
	Positions []float32           // [1+patches, D]
	Blocks    *transformer.Stack  // pre-norm, with the final normalization
	Head      *transformer.Linear // or nil
}

// NewViT takes the weights under prefix by timm's names.
func NewViT(c ViTConfig, w transformer.Weights, prefix string) (*ViT, error) {
	err := check.Positive("ViT", check.Size("dim", c.Dim), check.Size("height", c.Height), check.Size("width", c.Width), check.Size("patch height", c.PatchHeight), check.Size("patch width", c.PatchWidth), check.Size("channels", c.Channels))
	if err != nil {
		return nil, err
	}
	if c.Height%c.PatchHeight != 0 || c.Width%c.PatchWidth != 0 {
		return nil, check.Errorf(fault.ErrConfig, "ViT: image of %dx%d in patches of %dx%d", c.Height, c.Width, c.PatchHeight, c.PatchWidth)
	}
	if c.Height > math.MaxInt/c.Width || c.Channels > math.MaxInt/(c.Height*c.Width) {
		return nil, check.Errorf(fault.ErrConfig, "ViT: image of %dx%d with %d channels", c.Height, c.Width, c.Channels)
	}
	l := transformer.NewLoader(w).At(prefix)
	patch := l.At("patch_embed.proj.")
	v := &ViT{
		ViTConfig: c,
		Patch: l.LinearOf(c.Channels*c.PatchHeight*c.PatchWidth, c.Dim,
			patch.Tensor("weight", c.Dim, c.Channels, c.PatchHeight, c.PatchWidth), patch.Tensor("bias", c.Dim)),
		Class:     l.Tensor("cls_token", 1, 1, c.Dim),
		Positions: l.Tensor("pos_embed", 1, 1+c.Patches(), c.Dim),
		Blocks:    l.Stack(transformer.StackConfig{Layers: c.Layers, Layer: c.BlockConfig(), FinalNorm: true}, TimmBlocks()),
	}
	if c.Classes > 0 {
		v.Head = l.At("head.").Linear(c.Dim, c.Classes, true)
	}
	return finish(v, l)
}

// Batch returns the batch of the rows of n images.
func (v *ViT) Batch(n int) transformer.Batch { return transformer.Uniform(n, 1+v.Patches()) }

// Forward sets dst, [images, 1+Patches, Dim], to the normalized output of the last block for
// images, [images, Channels, Height, Width]. Row 0 of each image is the class token's; the patches
// follow row by row.
func (v *ViT) Forward(ws *transformer.Workspace, dst, images []float32) error {
	if ws == nil {
		return check.Errorf(fault.ErrConfig, "workspace is nil; pass new(Workspace)")
	}
	pixels := v.Channels * v.Height * v.Width
	n := len(images) / pixels
	if err := check.Len("images", images, n*pixels, "images*channels*height*width"); err != nil {
		return err
	}
	batch := v.Batch(n)
	if err := check.Len("dst", dst, batch.Rows()*v.Dim, "images*(1+patches)*dim"); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	count := v.Patches()
	cut := ws.Alloc(n * count * v.Patch.In) // [images, patches, channels*ph*pw]
	v.cut(cut, images)
	patches := ws.Alloc(n * count * v.Dim)                    // [images, patches, D]
	if err := v.Patch.Forward(ws, patches, cut); err != nil { // [images, patches, D]
		return err
	}
	ws.Report("patch_embed", "", patches, n, count, v.Dim)
	x := ws.Alloc(batch.Rows() * v.Dim) // [images, 1+patches, D]
	for i := range n {
		rows := x[batch.Start(i)*v.Dim : batch.Start(i+1)*v.Dim]
		copy(rows, v.Class)
		copy(rows[v.Dim:], patches[i*count*v.Dim:])
		addTo(rows, v.Positions)
	}
	ws.ReportRows("embedded", "", x, batch, v.Dim)
	return v.Blocks.Forward(ws, dst, transformer.LayerInput{X: x, Batch: batch}, nil) // [images, 1+patches, D]
}

// cut copies each patch of the images, [channels, patch height, patch width], to a row of dst: so
// the convolution, whose stride is the patch, is a product.
func (v *ViT) cut(dst, images []float32) {
	for len(images) > 0 {
		for y := 0; y < v.Height; y += v.PatchHeight {
			for x := 0; x < v.Width; x += v.PatchWidth {
				for c := range v.Channels {
					for dy := range v.PatchHeight {
						from := (c*v.Height+y+dy)*v.Width + x
						dst = dst[copy(dst, images[from:from+v.PatchWidth]):]
					}
				}
			}
		}
		images = images[v.Channels*v.Height*v.Width:]
	}
}

// Classify sets dst, [images, Classes], to the logits for images.
func (v *ViT) Classify(ws *transformer.Workspace, dst, images []float32) error {
	if v.Head == nil {
		return check.Errorf(fault.ErrConfig, "ViT without head")
	}
	n := len(images) / (v.Channels * v.Height * v.Width)
	defer ws.Release(ws.Mark())
	x := ws.Alloc(v.Batch(n).Rows() * v.Dim)         // [images, 1+patches, D]
	if err := v.Forward(ws, x, images); err != nil { // [images, 1+patches, D]
		return err
	}
	first, err := firstRows(ws, x, v.Batch(n), v.Dim) // [images, D]
	if err != nil {
		return err
	}
	return v.Head.Forward(ws, dst, first) // [images, classes]
}
