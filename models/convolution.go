package models

import (
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer"
)

// Convolutions over time, as encoders of sound begin with.

// convolution is a convolution over time, with steps of zeros at both ends.
type convolution struct {
	in, steps, stride, pad int
	linear                 *transformer.Linear // [steps*in, out]: of the steps side by side
}

// loadConvolution takes the tensors weight, [out, in, steps], and bias, [out], if it has one.
func loadConvolution(l *transformer.Loader, in, out, steps, stride, pad int, bias bool) *convolution {
	w, b := l.Tensor("weight", out, in, steps), l.Optional(bias, "bias", out)
	return &convolution{in, steps, stride, pad, l.LinearOf(steps*in, out, stepsFirst(w, in, steps), b)}
}

// stepsFirst is w, [out, in, steps], as [out, steps, in].
func stepsFirst(w []float32, in, steps int) []float32 {
	first := make([]float32, len(w))
	for i, v := range w {
		first[i/(steps*in)*steps*in+i%steps*in+i/steps%in] = v
	}
	return first
}

// rows is the number of results for n rows; 0 where there are too few.
func (c *convolution) rows(n int) int {
	if n += 2 * c.pad; n < c.steps {
		return 0
	}
	return (n-c.steps)/c.stride + 1
}

// convolutionRows is how many results of a convolution are computed at once.
const convolutionRows = 512

// forward sets dst, [up to rows(n), out], to the first results for x, [n, in].
func (c *convolution) forward(ws *Workspace, dst, x []float32) error {
	n, width, out := len(x)/c.in, c.steps*c.in, c.linear.Out
	rows := len(dst) / out
	if len(x) != n*c.in || len(dst) != rows*out || rows > c.rows(n) {
		return check.Errorf(transformer.ErrShape, "convolution of %d elements to %d, want rows of %d and at most %d of %d", len(x), len(dst), c.in, c.rows(n), out)
	}
	defer ws.Release(ws.Mark())
	all := ws.Alloc(min(rows, convolutionRows) * width)
	for from := 0; from < rows; from += convolutionRows {
		count := min(convolutionRows, rows-from)
		steps := all[:count*width] // [count, steps*in]
		for r := range count {
			step := steps[r*width : (r+1)*width]
			first := (from+r)*c.stride - c.pad
			begin, end := min(max(first, 0), n), max(min(first+c.steps, n), 0)
			if end-begin < c.steps {
				clear(step)
			}
			if begin < end {
				copy(step[(begin-first)*c.in:], x[begin*c.in:end*c.in])
			}
		}
		if err := c.linear.Forward(ws, dst[from*out:(from+count)*out], steps); err != nil { // [count, out]
			return err
		}
	}
	return nil
}
