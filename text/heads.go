// Computations of windows by an encoder and a head.

package text

import "github.com/avoformer/avoformer/models"

// headOf is a computation of what a head with one result for each window makes of it.
func (f *folder) headOf(head models.Head) computation {
	return func(ws *models.Workspace, in models.Tokens, result func(i int, x []float32)) error {
		defer ws.Release(ws.Mark())
		n := head.Out()
		x := ws.Alloc(in.Batch.Rows() * f.model.Encoder.Dim()) // [rows, D]
		if err := f.model.Encoder.Encode(ws, x, in); err != nil {
			return err
		}
		y := ws.Alloc(in.Batch.Len() * n) // [texts, results]
		if err := head.Forward(ws, y, x, in); err != nil {
			return err
		}
		for i := range in.Batch.Len() {
			result(i, y[i*n:(i+1)*n])
		}
		return nil
	}
}

// headOfRows is a computation of what a head with a result for each token makes of each window, [tokens, results].
func (f *folder) headOfRows(head models.Head) computation {
	return func(ws *models.Workspace, in models.Tokens, result func(i int, x []float32)) error {
		defer ws.Release(ws.Mark())
		n := head.Out()
		x := ws.Alloc(in.Batch.Rows() * f.model.Encoder.Dim()) // [rows, D]
		if err := f.model.Encoder.Encode(ws, x, in); err != nil {
			return err
		}
		y := ws.Alloc(in.Batch.Rows() * n) // [rows, results]
		if err := head.Forward(ws, y, x, in); err != nil {
			return err
		}
		for i := range in.Batch.Len() {
			result(i, y[in.Batch.Start(i)*n:in.Batch.Start(i+1)*n])
		}
		return nil
	}
}
