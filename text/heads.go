// Computations of windows by an encoder and a head.

package text

import (
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/queue"
)

// fromStates is a computation from the hidden states of a batch, [rows, D].
func (f *folder) fromStates(use func(ws *models.Workspace, x []float32, in models.Tokens, result func(i int, x []float32)) error) queue.Computation {
	return func(ws *models.Workspace, in models.Tokens, result func(i int, x []float32)) error {
		defer ws.Release(ws.Mark())
		x := ws.Alloc(in.Batch.Rows() * f.model.Encoder.Dim()) // [rows, D]
		if err := f.model.Encoder.Encode(ws, x, in); err != nil {
			return err
		}
		return use(ws, x, in, result)
	}
}

// headOf is a computation of what a head makes of each window: one result, or with perToken one for each token,
// [tokens, results].
func (f *folder) headOf(head models.Head, perToken bool) queue.Computation {
	return f.fromStates(func(ws *models.Workspace, x []float32, in models.Tokens, result func(i int, x []float32)) error {
		rows := func(window int) int { return window } // of results, before those of a window
		if perToken {
			rows = in.Batch.Start
		}
		n := head.Out()
		y := ws.Alloc(rows(in.Batch.Len()) * n) // [windows or rows, results]
		if err := head.Forward(ws, y, x, in); err != nil {
			return err
		}
		for i := range in.Batch.Len() {
			result(i, y[rows(i)*n:rows(i+1)*n])
		}
		return nil
	})
}
