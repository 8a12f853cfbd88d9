package block

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// Images: what encoders of images share.

// Patches cuts images into patches and projects each to a row.
type Patches struct {
	Channels, Height, Width int // of a patch
	Project                 *transformer.Linear
}

// LoadPatches returns the patches whose projection is the convolution in weight, [dim, channels,
// height, width], whose stride is its size.
func LoadPatches(l *transformer.Loader, dim, channels, height, width int, bias bool) *Patches {
	weight, b := l.Tensor("weight", dim, channels, height, width), l.Optional(bias, "bias", dim)
	return &Patches{channels, height, width, l.LinearOf(channels*height*width, dim, weight, b)}
}

// grid returns the number of patches of an image, down and across. Pixels at its lower and right
// edge that do not fill a patch are ignored.
func (p *Patches) grid(height, width int) (down, across int, err error) {
	if height < p.Height || width < p.Width {
		return 0, 0, check.Errorf(fault.ErrShape, "image of %dx%d, want at least the patch of %dx%d", height, width, p.Height, p.Width)
	}
	return height / p.Height, width / p.Width, nil
}

// forward sets dst, [images, patches, D], to the patches of pixels, [images, channels, height,
// width], row by row.
func (p *Patches) forward(ws *transformer.Workspace, dst, pixels []float32, images, height, width int) error {
	down, across, err := p.grid(height, width)
	if err != nil {
		return err
	}
	if len(pixels) != images*p.Channels*height*width {
		return check.Errorf(fault.ErrShape, "%d pixels for %d images of %d channels of %dx%d", len(pixels), images, p.Channels, height, width)
	}
	defer ws.Release(ws.Mark())
	cut := ws.Alloc(images * down * across * p.Project.In) // [images, patches, channels*ph*pw]
	for to := cut; len(pixels) > 0; pixels = pixels[p.Channels*height*width:] {
		for y := 0; y < down*p.Height; y += p.Height {
			for x := 0; x < across*p.Width; x += p.Width {
				for c := range p.Channels {
					for dy := range p.Height {
						from := (c*height+y+dy)*width + x
						to = to[copy(to, pixels[from:from+p.Width]):]
					}
				}
			}
		}
	}
	return p.Project.Forward(ws, dst, cut) // [images, patches, D]
}

// positionsFor returns a table of positions, [side*side, dim] after the first rows, for another
// grid of patches.
func positionsFor(table []float32, first, dim, side, down, across int, resize func(table []float32, dim, down, across, toDown, toAcross int) []float32) []float32 {
	if down == side && across == side {
		return table
	}
	front := table[:first*dim]
	return slices.Concat(front, resize(table[len(front):], dim, side, side, down, across))
}

// interpolate resizes a table of positions bicubically (Keys, 1981, with a = -0.75), as PyTorch
// does where corners are not aligned.
var interpolate = ResizeBy(taps)

// ResizeBy returns a function that resizes a table of positions, [down, across, dim], in both
// directions. places returns the places of n that place i of to is made of, and their weights; the
// product of two weights is rounded to T.
func ResizeBy[T float32 | float64](places func(i, to, n int) (at []int, weights []T)) func(table []float32, dim, down, across, toDown, toAcross int) []float32 {
	return func(table []float32, dim, down, across, toDown, toAcross int) []float32 {
		dst := make([]float32, toDown*toAcross*dim)
		for y := range toDown {
			rows, rowWeights := places(y, toDown, down)
			for x := range toAcross {
				columns, columnWeights := places(x, toAcross, across)
				to := dst[(y*toAcross+x)*dim:][:dim]
				for i, r := range rows {
					for j, c := range columns {
						w := float32(rowWeights[i] * columnWeights[j])
						for d, v := range table[(r*across+c)*dim:][:dim] {
							to[d] += float32(w * v)
						}
					}
				}
			}
		}
		return dst
	}
}

// taps returns the four places of n that place i of to is made of, and their weights.
func taps(i, to, n int) (at []int, weights []float64) {
	const a = -0.75
	source := (float64(i)+0.5)*float64(n)/float64(to) - 0.5
	first := math.Floor(source)
	t := source - first
	near := func(x float64) float64 { return float64(float64(float64((a+2)*x)-(a+3))*x*x) + 1 }    // |x| <= 1
	far := func(x float64) float64 { return float64((float64((float64(a*x)-5*a)*x)+8*a)*x) - 4*a } // 1 < |x| < 2
	for j := range 4 {
		at = append(at, min(max(int(first)-1+j, 0), n-1))
	}
	return at, []float64{far(t + 1), near(t), near(1 - t), far(2 - t)}
}

// ImageTower is the encoder of images of vision transformers.
type ImageTower struct {
	Width, Pixels, Side int // width, of the image, of the grid of patches
	Depth               int // layers
	Patches             *Patches
	Class               []float32         // [rows in front of the patches, D], or nil
	Positions           []float32         // [rows, D], added to the rows; nil: none
	Axial               *Axial            // positions that layers get as LayerInput.Beside; nil: none
	Before, After       *transformer.Norm // or nil
	Layers              imageLayers
	Resize              func(table []float32, dim, down, across, toDown, toAcross int) []float32 // of positions; nil: interpolate
	Places              func(down, across int) []int                                             // rows of Positions for a grid of patches, which are then not resized; or nil
}

// imageLayers are the layers of a tower, as transformer.Stack has them.
type imageLayers interface {
	Forward(ws *transformer.Workspace, dst []float32, in transformer.LayerInput, cache *transformer.Cache) error
}

func LoadImageTower(config TowerConfig, image ImageTowerConfig, d configuration.Document, l *transformer.Loader, class bool) (*ImageTower, error) {
	layers, err := config.Stack(d, l)
	if err != nil {
		return nil, err
	}
	side, err := image.Side(d)
	if err != nil {
		return nil, err
	}
	t := &ImageTower{Width: config.Dim, Pixels: image.Image, Side: side, Depth: config.Layers, Layers: layers}
	count := side * side
	if class {
		t.Class = l.Tensor("embeddings.class_embedding", config.Dim)
		count++
	}
	t.Patches = LoadPatches(l.At("embeddings.patch_embedding."), config.Dim, image.Channels, image.Patch, image.Patch, !class)
	t.Positions = l.Tensor("embeddings.position_embedding.weight", count, config.Dim)
	return t, nil
}

func (t *ImageTower) Dim() int                  { return t.Width }
func (t *ImageTower) Channels() int             { return t.Patches.Channels }
func (t *ImageTower) Size() (height, width int) { return t.Pixels, t.Pixels }

func (t *ImageTower) Rows(height, width int) (int, error) {
	down, across, err := t.Patches.grid(height, width)
	return len(t.Class)/t.Width + down*across, err
}

// EncodeImages interpolates the positions for images of another size.
func (t *ImageTower) EncodeImages(ws *transformer.Workspace, dst, pixels []float32, images, height, width int) error {
	down, across, err := t.Patches.grid(height, width)
	if err != nil {
		return err
	}
	class := len(t.Class) // elements in front of the patches
	rows := class/t.Width + down*across
	if len(dst) != images*rows*t.Width {
		return check.Errorf(fault.ErrShape, "dst has %d elements, want %d images of %d rows of %d", len(dst), images, rows, t.Width)
	}
	resize := t.Resize
	if resize == nil {
		resize = interpolate
	}
	var positions []float32 // [rows, D]
	switch {
	case t.Places != nil:
		for _, row := range t.Places(down, across) {
			positions = append(positions, t.Positions[row*t.Width:][:t.Width]...)
		}
	case t.Positions != nil:
		positions = positionsFor(t.Positions, class/t.Width, t.Width, t.Side, down, across, resize)
	}
	defer ws.Release(ws.Mark())
	count := rows*t.Width - class
	x := ws.Alloc(images * count)                                                   // [images, patches, D]
	if err := t.Patches.forward(ws, x, pixels, images, height, width); err != nil { // [images, patches, D]
		return err
	}
	for i := range images {
		to := dst[i*rows*t.Width : (i+1)*rows*t.Width] // [rows, D]
		copy(to, t.Class)
		copy(to[class:], x[i*count:])
		for j, p := range positions {
			to[j] += p
		}
	}
	if t.Before != nil {
		if err := t.Before.Forward(ws, dst, dst); err != nil { // [images, rows, D]
			return err
		}
	}
	in := transformer.LayerInput{X: dst, Batch: transformer.Uniform(images, rows)}
	if t.Axial != nil {
		in.Beside = slices.Repeat(t.Axial.Turns(class/t.Width, down, across), images) // [images, rows, hd]
	}
	if err := t.Layers.Forward(ws, dst, in, nil); err != nil { // [images, rows, D]
		return err
	}
	if t.After == nil {
		return nil
	}
	return t.After.Forward(ws, dst, dst) // [images, rows, D]
}
