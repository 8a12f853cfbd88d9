package block

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/matrix"
	"github.com/avoformer/avoformer/transformer"
)

// Convolutions over time, as encoders of sound begin with.

// Convolution is a convolution over time, with steps of zeros at both ends.
type Convolution struct {
	In, Steps, Stride, Pad int
	Linear                 *transformer.Linear // [steps*in, out]: of the steps side by side
}

// LoadConvolution takes the tensors weight, [out, in, steps], and bias, [out], if it has one.
func LoadConvolution(l *transformer.Loader, in, out, steps, stride, pad int, bias bool) *Convolution {
	w, b := l.Tensor("weight", out, in, steps), l.Optional(bias, "bias", out)
	return &Convolution{in, steps, stride, pad, l.LinearOf(steps*in, out, StepsFirst(w, in, steps), b)}
}

// StepsFirst returns w, [out, in, steps], as [out, steps, in].
func StepsFirst(w []float32, in, steps int) []float32 {
	first := make([]float32, len(w))
	for at := 0; at < len(w); at += in * steps {
		matrix.Transpose(first[at:at+in*steps], w[at:at+in*steps], steps)
	}
	return first
}

// Rows returns the number of results for n rows; 0 where there are too few.
func (c *Convolution) Rows(n int) int {
	if n += 2 * c.Pad; n < c.Steps {
		return 0
	}
	return (n-c.Steps)/c.Stride + 1
}

// convolutionRows is how many results of a convolution are computed at once.
const convolutionRows = 512

// Forward sets dst, [up to rows(n), out], to the first results for x, [n, in].
func (c *Convolution) Forward(ws *transformer.Workspace, dst, x []float32) error {
	n, width, out := len(x)/c.In, c.Steps*c.In, c.Linear.Out
	rows := len(dst) / out
	if len(x) != n*c.In || len(dst) != rows*out || rows > c.Rows(n) {
		return check.Errorf(fault.ErrShape, "convolution of %d elements to %d, want rows of %d and at most %d of %d", len(x), len(dst), c.In, c.Rows(n), out)
	}
	defer ws.Release(ws.Mark())
	all := ws.Alloc(min(rows, convolutionRows) * width)
	for from := 0; from < rows; from += convolutionRows {
		count := min(convolutionRows, rows-from)
		steps := all[:count*width] // [count, steps*in]
		for r := range count {
			step := steps[r*width : (r+1)*width]
			first := (from+r)*c.Stride - c.Pad
			begin, end := min(max(first, 0), n), max(min(first+c.Steps, n), 0)
			if end-begin < c.Steps {
				clear(step)
			}
			if begin < end {
				copy(step[(begin-first)*c.In:], x[begin*c.In:end*c.In])
			}
		}
		if err := c.Linear.Forward(ws, dst[from*out:(from+count)*out], steps); err != nil { // [count, out]
			return err
		}
	}
	return nil
}
