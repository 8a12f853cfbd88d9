package block

import (
	"math"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Alternating Updates: Baykal et al., 2023, "Alternating Updates for Efficient Transformers".
// Several streams of rows pass through the layers. A layer predicts all streams, computes one of
// them, and corrects all other streams by the change.

// Streams makes the streams of a decoder, and rows of the streams after the last layer. The first
// stream is the vectors of the tokens.
type Streams struct {
	In, Out []*transformer.Linear // of D, for each stream but the first
}

// Count returns the number of streams.
func (s *Streams) Count() int { return 1 + len(s.In) }

// Open sets dst, [streams, rows, D], to the streams of x, [rows, D].
func (s *Streams) Open(ws *transformer.Workspace, dst, x []float32) error {
	copy(dst, x)
	for i, project := range s.In {
		y := dst[(i+1)*len(x):][:len(x)]
		if err := project.Forward(ws, y, x); err != nil { // y = project(x)  [rows, D]
			return err
		}
		asLarge(y, x, project.Out)
	}
	return nil
}

// Close sets dst, [rows, D], to the mean of the streams x, [streams, rows, D], each as large as the
// first.
func (s *Streams) Close(ws *transformer.Workspace, dst, x []float32) error {
	defer ws.Release(ws.Mark())
	first := x[:len(dst)]
	copy(dst, first)
	y := ws.Alloc(len(dst))
	for i, project := range s.Out {
		if err := project.Forward(ws, y, x[(i+1)*len(dst):][:len(dst)]); err != nil { // y = project(stream)  [rows, D]
			return err
		}
		asLarge(y, first, project.Out)
		ws.Threads.Add(dst, dst, y)
	}
	ws.Threads.Scale(dst, dst, 1/float32(s.Count()))
	return nil
}

// asLarge scales each row of y, [rows, dim], so that its root mean square is that of the row of x.
func asLarge(y, x []float32, dim int) {
	const least = 1e-5 // of the mean square of y
	for i := 0; i < len(y); i += dim {
		row := y[i:][:dim]
		kernels.Scale(row, row, float32(math.Sqrt(meanSquare(x[i:][:dim])/max(meanSquare(row), least))))
	}
}

// meanSquare returns the mean of the squares of x, whose products float64 holds exactly.
func meanSquare(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(float64(v) * float64(v))
	}
	return sum / float64(len(x))
}

// AltUp predicts and corrects the streams of a layer.
type AltUp struct {
	Streams, Active int                 // Active is the stream that the layer computes
	Norm            *transformer.Norm   // of what enters the router
	Router          *transformer.Linear // from D to a weight for each stream
	Predictor       *transformer.Linear // from these to [streams, streams] coefficients
	Corrector       *transformer.Linear // from these to a coefficient for each stream
}

// weigh sets dst, [rows, streams], to tanh(router(norm(x))) of x, [rows, D].
func (a *AltUp) weigh(ws *transformer.Workspace, dst, x []float32) error {
	defer ws.Release(ws.Mark())
	y := ws.Alloc(len(x))
	if err := a.Norm.Forward(ws, y, x); err != nil { // y = norm(x)  [rows, D]
		return err
	}
	if err := a.Router.Forward(ws, dst, y); err != nil { // dst = router(y)  [rows, streams]
		return err
	}
	ws.Threads.Tanh(dst, dst)
	return nil
}

// Predict sets dst to x, both [streams, rows, D], plus for each row a linear combination of all
// streams.
func (a *AltUp) Predict(ws *transformer.Workspace, dst, x []float32) error {
	defer ws.Release(ws.Mark())
	size, n := len(x)/a.Streams, a.Streams // size is rows*D
	rows := size / a.Router.In
	weights, coefficients := ws.Alloc(rows*n), ws.Alloc(rows*n*n)
	if err := a.weigh(ws, weights, x[a.Active*size:][:size]); err != nil { // [rows, streams]
		return err
	}
	if err := a.Predictor.Forward(ws, coefficients, weights); err != nil { // [rows, streams, streams]
		return err
	}
	copy(dst, x)
	ws.Threads.Run(rows, n*n*size/8, &combination{dst, x, coefficients, n, a.Router.In})
	return nil
}

// combination adds to the rows of streams linear combinations of those of x: a task of
// kernels.Threads.Run whose parts are rows.
type combination struct {
	dst, x, coefficients []float32 // [streams, rows, dim], the same, [rows, streams, streams]
	streams, dim         int
}

func (c *combination) Do(from, to int) {
	n, size := c.streams, len(c.x)/c.streams
	for r := from; r < to; r++ {
		for i := range n {
			for j := range n {
				kernels.AXPY(c.coefficients[(r*n+i)*n+j], c.x[j*size+r*c.dim:][:c.dim], c.dst[i*size+r*c.dim:][:c.dim])
			}
		}
	}
}

// Correct adds to the streams x, [streams, rows, D], what the layer changed of the active one,
// which it made computed, [rows, D], in each stream times a coefficient. The active stream of x
// must be as Predict left it.
func (a *AltUp) Correct(ws *transformer.Workspace, x, computed []float32) error {
	defer ws.Release(ws.Mark())
	size, n, dim := len(computed), a.Streams, a.Router.In
	rows := size / dim
	weights, coefficients, change := ws.Alloc(rows*n), ws.Alloc(rows*n), ws.Alloc(size)
	if err := a.weigh(ws, weights, computed); err != nil { // [rows, streams]
		return err
	}
	if err := a.Corrector.Forward(ws, coefficients, weights); err != nil { // [rows, streams]
		return err
	}
	copy(change, computed)
	ws.Threads.AXPY(-1, x[a.Active*size:][:size], change) // change = computed - active stream  [rows, D]
	for r := range rows {
		for i := range n {
			kernels.AXPY(1+coefficients[r*n+i], change[r*dim:][:dim], x[i*size+r*dim:][:dim])
		}
	}
	return nil
}
