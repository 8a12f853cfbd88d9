package block

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// PooledTower is an encoder of images whose results are means over squares of patches. It takes
// pixels from 0 to 1.
type PooledTower struct {
	Width        int // D
	Pool         int // side of a square, in patches
	Patches      *Patches
	Positions    []float32 // [2, positions, D]: of columns and of rows, added to patches
	Axial        *Axial
	Layers       []*NormedLayer
	Scale        float32   // of the means
	Bias, Factor []float32 // [D]: a mean m becomes (m-Bias)*Factor; nil: it stays
	// Norm and Project, unless nil, make the results another model's, of Project.Out features.
	Norm    *transformer.Norm
	Project *transformer.Linear
}

// Dim returns the width of the results.
func (t *PooledTower) Dim() int {
	if t.Project != nil {
		return t.Project.Out
	}
	return t.Width
}

// Channels is 3.
func (t *PooledTower) Channels() int { return t.Patches.Channels }

// Size is that of a single square: there is no size of the images that it was trained on.
func (t *PooledTower) Size() (height, width int) {
	return t.Pool * t.Patches.Height, t.Pool * t.Patches.Width
}

// Rows returns the number of squares. The image has to consist of whole ones.
func (t *PooledTower) Rows(height, width int) (int, error) {
	down, across, err := t.Patches.grid(height, width)
	if err != nil {
		return 0, err
	}
	if h, w := t.Size(); height%h != 0 || width%w != 0 {
		return 0, check.Errorf(fault.ErrShape, "image of %dx%d, want multiples of %d and %d", height, width, h, w)
	}
	if most := len(t.Positions) / 2 / t.Width; down > most || across > most {
		return 0, check.Errorf(fault.ErrShape, "image of %dx%d patches, the tables of positions have %d rows", down, across, most)
	}
	return down * across / (t.Pool * t.Pool), nil
}

// EncodeImages sets dst, [images, Rows, Dim], to the results for pixels, [images, Channels, height,
// width].
func (t *PooledTower) EncodeImages(ws *transformer.Workspace, dst, pixels []float32, images, height, width int) error {
	rows, err := t.Rows(height, width)
	if err != nil {
		return err
	}
	if len(dst) != images*rows*t.Dim() {
		return check.Errorf(fault.ErrShape, "dst has %d elements, want %d images of %d rows of %d", len(dst), images, rows, t.Dim())
	}
	down, across := height/t.Patches.Height, width/t.Patches.Width
	defer ws.Release(ws.Mark())
	x, around := ws.Alloc(images*down*across*t.Width), ws.Alloc(len(pixels)) // [images, patches, D], pixels from -1 to 1
	for i, p := range pixels {
		around[i] = 2 * (p - 0.5)
	}
	if err := t.Patches.forward(ws, x, around, images, height, width); err != nil { // [images, patches, D]
		return err
	}
	t.addPositions(x, images, down, across)
	turns := t.Axial.Turns(0, down, across) // [patches, hd]
	for i := range images {
		one := x[i*down*across*t.Width:][:down*across*t.Width]
		for _, l := range t.Layers {
			if err := l.Forward(ws, one, transformer.Uniform(1, down*across), turns); err != nil { // [patches, D]
				return err
			}
		}
	}
	if t.Project == nil {
		t.pool(dst, x, across)
		return nil
	}
	pooled := ws.Alloc(images * rows * t.Width) // [images, rows, D]
	t.pool(pooled, x, across)
	if err := t.Norm.Forward(ws, pooled, pooled); err != nil {
		return err
	}
	return t.Project.Forward(ws, dst, pooled) // [images, rows, Dim]
}

// addPositions adds to x, [images, down, across, D], the positions of columns and rows.
func (t *PooledTower) addPositions(x []float32, images, down, across int) {
	dim := t.Width
	columns, rows := t.Positions[:len(t.Positions)/2], t.Positions[len(t.Positions)/2:]
	for p := range images * down * across {
		column, row := columns[p%across*dim:][:dim], rows[p/across%down*dim:][:dim]
		to := x[p*dim:][:dim]
		for i := range to {
			to[i] += column[i] + row[i]
		}
	}
}

// pool sets dst, [rows of all images, D], to the scaled means of the squares of x, [patches of all
// images, D], of which across make a row. The squares of two images have no patches in common,
// since images consist of whole squares.
func (t *PooledTower) pool(dst, x []float32, across int) {
	dim := t.Width
	meanSquares(dst, x, dim, across, t.Pool)
	for ; len(dst) > 0; dst = dst[dim:] {
		for i := range dst[:dim] {
			v := float32(dst[i] * t.Scale)
			if t.Bias != nil {
				v = (v - t.Bias[i]) * t.Factor[i]
			}
			dst[i] = v
		}
	}
}

// meanSquares sets dst, [squares, D], to the means over squares of patches, which are side by side.
// x is [patches, D], of which across make a row. Patches at the end of a row that fill no square
// are left out.
func meanSquares(dst, x []float32, dim, across, side int) {
	clear(dst)
	squares, area := across/side, float32(side*side)
	for p := range len(x) / dim {
		column := p % across / side
		if column == squares {
			continue
		}
		to := dst[(p/across/side*squares+column)*dim:][:dim]
		for i, v := range x[p*dim:][:dim] {
			to[i] += v / area
		}
	}
}

// NormedLayer is a layer of an encoder of images that normalizes what enters and what leaves each
// of its parts.
type NormedLayer struct {
	AttentionNorm, AttentionAfter *transformer.Norm
	Attention                     *GridAttention
	FeedNorm, FeedAfter           *transformer.Norm
	Gate, Up, Down                Projection
	Hidden                        int // outputs of Gate and Up
	Activation                    func(t kernels.Threads, x []float32)
}

// Forward sets x, [rows, D], to the layer's output for it.
func (l *NormedLayer) Forward(ws *transformer.Workspace, x []float32, batch transformer.Batch, turns []float32) error {
	defer ws.Release(ws.Mark())
	in, out := ws.Alloc(len(x)), ws.Alloc(len(x)) // [rows, D]
	if err := l.AttentionNorm.Forward(ws, in, x); err != nil {
		return err
	}
	if err := l.Attention.Forward(ws, out, in, batch, turns); err != nil { // out = attention(norm(x))
		return err
	}
	if err := l.AttentionAfter.Forward(ws, out, out); err != nil {
		return err
	}
	ws.Threads.Add(x, x, out)
	if err := l.FeedNorm.Forward(ws, in, x); err != nil {
		return err
	}
	if err := l.feed(ws, out, in, batch.Rows()); err != nil { // out = feed(norm(x))
		return err
	}
	if err := l.FeedAfter.Forward(ws, out, out); err != nil {
		return err
	}
	ws.Threads.Add(x, x, out)
	return nil
}

// feed sets dst, [rows, D], to the gated feed-forward network of x, [rows, D].
func (l *NormedLayer) feed(ws *transformer.Workspace, dst, x []float32, rows int) error {
	defer ws.Release(ws.Mark())
	gate, up := ws.Alloc(rows*l.Hidden), ws.Alloc(rows*l.Hidden) // [rows, H]
	if err := l.Gate.Forward(ws, gate, x); err != nil {
		return err
	}
	if err := l.Up.Forward(ws, up, x); err != nil {
		return err
	}
	l.Activation(ws.Threads, gate)
	ws.Threads.Mul(gate, gate, up)
	return l.Down.Forward(ws, dst, gate)
}

// Clipped is a linear layer that limits what enters and what leaves it.
type Clipped struct {
	*transformer.Linear
	in, out [2]float32 // least and most
}

// LoadClipped returns the layer whose weight and limits have Gemma 4's names.
func LoadClipped(l *transformer.Loader, in, out int) *Clipped {
	limit := func(name string) float32 {
		if x := l.Tensor(name); len(x) == 1 {
			return x[0]
		}
		return 0
	}
	return &Clipped{l.At("linear.").Linear(in, out, false), [2]float32{limit("input_min"), limit("input_max")}, [2]float32{limit("output_min"), limit("output_max")}}
}

// Forward sets dst, [rows, out], to the product of x, [rows, in].
func (c *Clipped) Forward(ws *transformer.Workspace, dst, x []float32) error {
	defer ws.Release(ws.Mark())
	limited := ws.Alloc(len(x))
	copy(limited, x)
	clip(limited, c.in)
	if err := c.Linear.Forward(ws, dst, limited); err != nil {
		return err
	}
	clip(dst, c.out)
	return nil
}

// clip limits x. NaN stays.
func clip(x []float32, limits [2]float32) {
	for i, v := range x {
		if v < limits[0] {
			x[i] = limits[0]
		} else if v > limits[1] {
			x[i] = limits[1]
		}
	}
}
