package checkpoint

import (
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// This file adds products of small matrices to weights as they are read: adapters.

// A LowRank is that of package transformer.
type LowRank struct {
	Name        string
	Left, Right []float32
	Rank        int
	Scale       float32
}

// Add adds to the tensor that the checkpoint calls name.
func (s Scope) Add(name string, d LowRank) error {
	if d.Rank < 1 || len(d.Left)%d.Rank != 0 || len(d.Right)%d.Rank != 0 || len(d.Left) == 0 || len(d.Right) == 0 {
		return check.Errorf(check.ErrShape, "%s: %d and %d elements of rank %d", d.Name, len(d.Left), len(d.Right), d.Rank)
	}
	if s.added == nil {
		s.added = map[string][]LowRank{}
	}
	s.added[name] = append(s.added[name], d)
	return nil
}

// additions is what was added to a tensor of the model.
func (s Scope) additions(name string) []LowRank {
	if s.added == nil {
		return nil
	}
	return s.added[s.lookup(name)]
}

// takes notes an error unless what was added to a tensor of the model makes a matrix of this shape,
// in which the model multiplies with it.
func (s Scope) takes(name string, shape ...int) bool {
	ok := true
	for _, d := range s.additions(name) {
		rows, cols := len(d.Left)/d.Rank, len(d.Right)/d.Rank
		if len(shape) != 2 || shape[0] != rows || shape[1] != cols {
			s.note(name, check.Errorf(check.ErrMisshapen, "%s adds [%d %d] to %s, want %v", d.Name, rows, cols, s.lookup(name), shape))
			ok = false
		}
	}
	return ok
}

// add adds to elements of a tensor, whole rows of the model's matrix from the given element on.
func (s Scope) add(dst []float32, name string, from int) {
	for _, d := range s.additions(name) {
		cols := len(d.Right) / d.Rank
		rows, first := len(dst)/cols, from/cols
		kernels.Gemm(kernels.NoTrans, kernels.NoTrans, rows, cols, d.Rank, d.Scale, d.Left[first*d.Rank:], d.Rank, d.Right, cols, 1, dst, cols)
	}
}

// addTransposed is add for a tensor that is stored transposed.
func (s Scope) addTransposed(dst []float32, name string, from int) {
	for _, d := range s.additions(name) {
		rows, cols := len(d.Left)/d.Rank, len(d.Right)/d.Rank
		n, first := len(dst)/rows, from/rows
		kernels.Gemm(kernels.Trans, kernels.Trans, n, rows, d.Rank, d.Scale, d.Right[first:], cols, d.Left, d.Rank, 1, dst, rows)
	}
}

// unused are the names of what was added to tensors that no part of the model asked for.
func (a *account) unused() (names []string) {
	for tensor, list := range a.added {
		for _, d := range list {
			if !a.used[tensor] {
				names = append(names, d.Name)
			}
		}
	}
	return names
}
