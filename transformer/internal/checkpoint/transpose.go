package checkpoint

import (
	"errors"
	"sync"

	"github.com/avoformer/avoformer/kernels"
)

// This file reads matrices that are stored transposed, as GPT-2's Conv1D has them.

// transposed is the matrices [out, in] of a tensor that has them as [in, out]. The rows of one of
// them are read together: each is in memory from its first row on, and the Tensor is dropped after
// its last one.
type transposed struct {
	Tensor
	in, out int
	whole   func() ([]float32, error) // [out, in]
}

// transpose returns the matrix numbered item of a tensor that stacks several. Elements are counted
// as in the tensor [items, out, in].
func transpose(t Tensor, in, out, item int) transposed {
	return transposed{t, in, out, sync.OnceValues(func() ([]float32, error) {
		x := make([]float32, out*in)
		return x, readTransposed(x, t, in, out, item)
	})}
}

// readTransposed sets dst, [out, in], to a matrix that t has as [in, out].
func readTransposed(dst []float32, t Tensor, in, out, item int) error {
	const together = 16 // rows of the tensor, which a cache line of dst has place for
	rows := make([]float32, together*out)
	for i := 0; i < in; i += together {
		n := min(together, in-i)
		if err := t.Read(rows[:n*out], (item*in+i)*out); err != nil {
			return err
		}
		for o := range out {
			for r := range n {
				dst[o*in+i+r] = rows[r*out+o]
			}
		}
	}
	return nil
}

func (t transposed) Format() kernels.Format       { return t.Tensor.Format() }
func (t transposed) ReadBlocks([]byte, int) error { return errors.ErrUnsupported }

func (t transposed) Read(dst []float32, from int) error {
	x, err := t.whole()
	if err == nil {
		copy(dst, x[from%len(x):])
	}
	return err
}
