package models

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer"
)

// Images: what encoders of images share.

// patches cuts images into patches and projects each to a row.
type patches struct {
	channels, height, width int // of a patch
	project                 *transformer.Linear
}

// loadPatches is the patches whose projection is the convolution in weight, [dim,
// channels, height, width], whose stride is its size.
func loadPatches(l *transformer.Loader, dim, channels, height, width int, bias bool) *patches {
	weight, b := l.Tensor("weight", dim, channels, height, width), l.Optional(bias, "bias", dim)
	return &patches{channels, height, width, l.LinearOf(channels*height*width, dim, weight, b)}
}

// grid is the number of patches of an image, down and across. What is left at its lower
// and right edge is not seen.
func (p *patches) grid(height, width int) (down, across int, err error) {
	if height < p.height || width < p.width {
		return 0, 0, check.Errorf(transformer.ErrShape, "image of %dx%d, want at least the patch of %dx%d", height, width, p.height, p.width)
	}
	return height / p.height, width / p.width, nil
}

// forward sets dst, [images, patches, D], to the patches of pixels, [images, channels,
// height, width], row by row.
func (p *patches) forward(ws *Workspace, dst, pixels []float32, images, height, width int) error {
	down, across, err := p.grid(height, width)
	if err != nil {
		return err
	}
	if len(pixels) != images*p.channels*height*width {
		return check.Errorf(transformer.ErrShape, "%d pixels for %d images of %d channels of %dx%d", len(pixels), images, p.channels, height, width)
	}
	defer ws.Release(ws.Mark())
	cut := ws.Alloc(images * down * across * p.project.In) // [images, patches, channels*ph*pw]
	for to := cut; len(pixels) > 0; pixels = pixels[p.channels*height*width:] {
		for y := 0; y < down*p.height; y += p.height {
			for x := 0; x < across*p.width; x += p.width {
				for c := range p.channels {
					for dy := range p.height {
						from := (c*height+y+dy)*width + x
						to = to[copy(to, pixels[from:from+p.width]):]
					}
				}
			}
		}
	}
	return p.project.Forward(ws, dst, cut) // [images, patches, D]
}

// positionsFor is a table of positions, [side*side, dim] after the first rows, for another
// grid of patches.
func positionsFor(table []float32, first, dim, side, down, across int, resize func(table []float32, dim, down, across, toDown, toAcross int) []float32) []float32 {
	if down == side && across == side {
		return table
	}
	front := table[:first*dim]
	return slices.Concat(front, resize(table[len(front):], dim, side, side, down, across))
}

// interpolate resizes a table of positions, [down, across, dim], bicubically (Keys,
// 1981, with a = -0.75) to another grid, as PyTorch does where corners are not aligned.
func interpolate(table []float32, dim, down, across, toDown, toAcross int) []float32 {
	dst := make([]float32, toDown*toAcross*dim)
	for y := range toDown {
		rows, rowWeights := taps(y, toDown, down)
		for x := range toAcross {
			columns, columnWeights := taps(x, toAcross, across)
			to := dst[(y*toAcross+x)*dim:][:dim]
			for i, r := range rows {
				for j, c := range columns {
					w := float32(rowWeights[i] * columnWeights[j])
					for d, v := range table[(r*across+c)*dim:][:dim] {
						to[d] += w * v
					}
				}
			}
		}
	}
	return dst
}

// taps are the four places of n that place i of to is made of, and their weights.
func taps(i, to, n int) (at [4]int, weights [4]float64) {
	const a = -0.75
	source := (float64(i)+0.5)*float64(n)/float64(to) - 0.5
	first := math.Floor(source)
	t := source - first
	near := func(x float64) float64 { return ((a+2)*x-(a+3))*x*x + 1 }  // |x| <= 1
	far := func(x float64) float64 { return ((a*x-5*a)*x+8*a)*x - 4*a } // 1 < |x| < 2
	weights = [4]float64{far(t + 1), near(t), near(1 - t), far(2 - t)}
	for j := range at {
		at[j] = min(max(int(first)-1+j, 0), n-1)
	}
	return at, weights
}

// imageTower is the encoder of images of vision transformers.
type imageTower struct {
	dim, size, side int // width, of the image, of the grid of patches
	depth           int // layers
	patches         *patches
	class           []float32         // [D], or nil
	positions       []float32         // [rows, D]
	before, after   *transformer.Norm // or nil
	layers          imageLayers
	resize          func(table []float32, dim, down, across, toDown, toAcross int) []float32 // of positions; nil: interpolate
}

// imageLayers are the layers of a tower, as transformer.Stack has them.
type imageLayers interface {
	Forward(ws *Workspace, dst []float32, in transformer.LayerInput, cache *Cache) error
}

func loadImageTower(config towerConfig, image imageTowerConfig, d Document, l *transformer.Loader, class bool) (*imageTower, error) {
	layers, err := config.stack(d, l)
	if err != nil {
		return nil, err
	}
	side, err := image.side(d)
	if err != nil {
		return nil, err
	}
	t := &imageTower{dim: config.Dim, size: image.Image, side: side, depth: config.Layers, layers: layers}
	count := side * side
	if class {
		t.class = l.Tensor("embeddings.class_embedding", config.Dim)
		count++
	}
	t.patches = loadPatches(l.At("embeddings.patch_embedding."), config.Dim, image.Channels, image.Patch, image.Patch, !class)
	t.positions = l.Tensor("embeddings.position_embedding.weight", count, config.Dim)
	return t, nil
}

func (t *imageTower) Dim() int                  { return t.dim }
func (t *imageTower) Channels() int             { return t.patches.channels }
func (t *imageTower) Size() (height, width int) { return t.size, t.size }

func (t *imageTower) Rows(height, width int) (int, error) {
	down, across, err := t.patches.grid(height, width)
	return len(t.class)/t.dim + down*across, err
}

// EncodeImages interpolates the positions for images of another size.
func (t *imageTower) EncodeImages(ws *Workspace, dst, pixels []float32, images, height, width int) error {
	down, across, err := t.patches.grid(height, width)
	if err != nil {
		return err
	}
	class := len(t.class) // elements
	rows := class/t.dim + down*across
	if len(dst) != images*rows*t.dim {
		return check.Errorf(transformer.ErrShape, "dst has %d elements, want %d images of %d rows of %d", len(dst), images, rows, t.dim)
	}
	resize := t.resize
	if resize == nil {
		resize = interpolate
	}
	positions := positionsFor(t.positions, class/t.dim, t.dim, t.side, down, across, resize) // [rows, D]
	defer ws.Release(ws.Mark())
	count := rows*t.dim - class
	x := ws.Alloc(images * count)                                                   // [images, patches, D]
	if err := t.patches.forward(ws, x, pixels, images, height, width); err != nil { // [images, patches, D]
		return err
	}
	for i := range images {
		to := dst[i*rows*t.dim : (i+1)*rows*t.dim] // [rows, D]
		copy(to, t.class)
		copy(to[class:], x[i*count:])
		for j, p := range positions {
			to[j] += p
		}
	}
	if t.before != nil {
		if err := t.before.Forward(ws, dst, dst); err != nil { // [images, rows, D]
			return err
		}
	}
	in := transformer.LayerInput{X: dst, Batch: transformer.Uniform(images, rows)}
	if err := t.layers.Forward(ws, dst, in, nil); err != nil { // [images, rows, D]
		return err
	}
	if t.after == nil {
		return nil
	}
	return t.after.Forward(ws, dst, dst) // [images, rows, D]
}
