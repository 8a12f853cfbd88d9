package checkpoint

import "github.com/avoformer/avoformer/kernels"

// This file has the matrices and tables that a model wants.

// A Stack is a matrix, [rows of all strips, In], that a linear layer wants.
type Stack struct {
	In       int
	Strips   []Strip
	RowByRow bool // it is held as it is stored, without a copy for many rows
	// Together, unless nil, are the rows of all linear layers that multiply the same rows. Weights
	// of int8 are balanced by all of them, so that rows become the same integers for each layer.
	Together []Strip
}

// matrix is a matrix that is wanted, and its slot.
type matrix struct {
	Stack
	slot       *Matrix
	out        int
	stored     kernels.Format
	transposed bool
}

// weight is the want by which the format is chosen.
func (m *matrix) weight() Want { return m.Strips[0].Weight }

// vectors is a table that is wanted, of which it is not known yet whether a projection shares its
// vectors.
type vectors struct {
	*Table          // the slot
	want     Want   // of the tensor, [rows, dim]
	tensor   Tensor // nil: the checkpoint has none, or another one
	stored   kernels.Format
	rowByRow bool
	changed  bool // by adapters
	tied     bool // a projection shares the vectors
	absent   bool // the checkpoint has no such tensor
}

// stack is the table as a matrix.
func (v *vectors) stack() *matrix {
	part := Part{Rows: v.rows}
	part.Complete()
	return &matrix{Stack: Stack{In: v.dim, Strips: []Strip{{part, v.want, v.tensor}}}, slot: &v.packed, out: v.rows, stored: v.stored}
}
