package block

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer"
)

// AveragedTower makes one row of each square of patches of an image of one size: the mean of the
// patches' hidden states, normalized and projected to the width of a text.
type AveragedTower struct {
	*ImageTower
	Square  int // side of a square, in patches; those at the lower and right edge of the image that fill no square are left out
	Norm    *transformer.Norm
	Project *transformer.Linear
}

// Dim returns the width of the results.
func (t *AveragedTower) Dim() int { return t.Project.Out }

// Rows returns the number of squares. The image has to have the size that the positions were made
// for.
func (t *AveragedTower) Rows(height, width int) (int, error) {
	if height != t.Pixels || width != t.Pixels {
		return 0, check.Errorf(fault.ErrShape, "image of %dx%d, want %dx%d", height, width, t.Pixels, t.Pixels)
	}
	squares := t.Side / t.Square
	return squares * squares, nil
}

// EncodeImages sets dst, [images, Rows, Dim], to the results for pixels, [images, Channels, height,
// width].
func (t *AveragedTower) EncodeImages(ws *transformer.Workspace, dst, pixels []float32, images, height, width int) error {
	rows, err := t.Rows(height, width)
	if err != nil {
		return err
	}
	if len(dst) != images*rows*t.Dim() {
		return check.Errorf(fault.ErrShape, "dst has %d elements, want %d images of %d rows of %d", len(dst), images, rows, t.Dim())
	}
	defer ws.Release(ws.Mark())
	patches := t.Side * t.Side
	x, means := ws.Alloc(images*patches*t.Width), ws.Alloc(images*rows*t.Width)             // [images, patches, D], [images, rows, D]
	if err := t.ImageTower.EncodeImages(ws, x, pixels, images, height, width); err != nil { // [images, patches, D]
		return err
	}
	used := t.Side / t.Square * t.Square * t.Side // patches of whole rows of squares
	for i := range images {
		meanSquares(means[i*rows*t.Width:][:rows*t.Width], x[i*patches*t.Width:][:used*t.Width], t.Width, t.Side, t.Square)
	}
	if err := t.Norm.Forward(ws, means, means); err != nil { // [images, rows, D]
		return err
	}
	return t.Project.Forward(ws, dst, means) // [images, rows, Dim]
}
