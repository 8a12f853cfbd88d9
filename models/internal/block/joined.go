package block

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer"
)

// JoinedTower makes one row of each square of patches of an image: the hidden states of the patches
// one after another, projected to the width of a text.
type JoinedTower struct {
	*ImageTower
	Square  int // side of a square, in patches
	Project Projection
	Out     int // outputs of Project
}

// Dim returns the width of the results.
func (t *JoinedTower) Dim() int { return t.Out }

// Rows returns the number of squares. The patches have to fill them.
func (t *JoinedTower) Rows(height, width int) (int, error) {
	down, across, err := t.Patches.grid(height, width)
	if err != nil {
		return 0, err
	}
	if down%t.Square != 0 || across%t.Square != 0 {
		return 0, check.Errorf(fault.ErrShape, "image of %dx%d patches, want multiples of %d", down, across, t.Square)
	}
	return down / t.Square * (across / t.Square), nil
}

// EncodeImages sets dst, [images, Rows, Dim], to the results for pixels, [images, Channels, height,
// width].
func (t *JoinedTower) EncodeImages(ws *transformer.Workspace, dst, pixels []float32, images, height, width int) error {
	rows, err := t.Rows(height, width)
	if err != nil {
		return err
	}
	if len(dst) != images*rows*t.Out {
		return check.Errorf(fault.ErrShape, "dst has %d elements, want %d images of %d rows of %d", len(dst), images, rows, t.Out)
	}
	defer ws.Release(ws.Mark())
	area := t.Square * t.Square
	x, joined := ws.Alloc(images*rows*area*t.Width), ws.Alloc(images*rows*area*t.Width)     // [images, patches, D], [images, rows, area*D]
	if err := t.ImageTower.EncodeImages(ws, x, pixels, images, height, width); err != nil { // [images, patches, D]
		return err
	}
	t.join(joined, x, width/t.Patches.Width)
	return t.Project.Forward(ws, dst, joined) // [images, rows, Out]
}

// join copies x, [patches of all images, D], of which across make a row, to dst, [squares, area*D].
// The squares of two images have no patches in common, since images consist of whole squares.
func (t *JoinedTower) join(dst, x []float32, across int) {
	dim, side := t.Width, t.Square
	for p := range len(x) / dim {
		y, column := p/across, p%across
		square := y/side*(across/side) + column/side
		copy(dst[(square*side*side+y%side*side+column%side)*dim:][:dim], x[p*dim:][:dim])
	}
}
