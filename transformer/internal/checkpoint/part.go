package checkpoint

import "github.com/avoformer/avoformer/kernels"

// This file has the parts of a matrix: rows of tensors, one part below the other.

// A Part is some rows of a linear layer's weight, and the same elements of its bias.
type Part struct {
	Name string // prefix of "weight" and "bias"
	Rows int
	// From and Of are for rows of a tensor that stacks several: the first of them, and the number
	// of all. Of 0: the tensor has Rows rows.
	From, Of int
	NoBias   bool // the bias of these rows is 0, and the checkpoint lacks it
	// Scale and BiasScale multiply weight and bias; 0: 1.
	Scale, BiasScale float32
	// Stack and Item are for a tensor that stacks several matrices, [Stack, Of, in]: the rows are
	// those of matrix Item. Such a tensor's bias, if there is one, belongs to no part. Stack 0: the
	// tensor is one matrix.
	Stack, Item int
	// Step is the distance between the rows in the tensor; 0: 1.
	Step int
}

// Complete replaces fields that are 0 by what they mean, and reports whether the tensor can have
// the rows.
func (p *Part) Complete() bool {
	if p.Step == 0 {
		p.Step = 1
	}
	if p.Of == 0 {
		p.Of = p.Rows
	}
	return p.Rows >= 1 && p.From >= 0 && p.Step >= 1 && p.From < p.Of && p.Rows-1 <= (p.Of-1-p.From)/p.Step && p.Item >= 0 && p.Item < max(p.Stack, 1)
}

// Shape returns the shape of the part's tensor, for rows of in elements.
func (p *Part) Shape(in int) []int {
	if p.Stack > 0 {
		return []int{p.Stack, p.Of, in}
	}
	return []int{p.Of, in}
}

// Bias returns the part's elements of the bias x, [Of]; nil: zeros.
func (p *Part) Bias(x []float32) []float32 {
	b := make([]float32, p.Rows)
	if x != nil {
		copy(b, x[p.From:])
		scale(b, p.BiasScale)
	}
	return b
}

// row returns the place of one of the rows in the tensor.
func (p *Part) row(i int) int { return p.Item*p.Of + p.From + i*p.Step }

// scales reports whether the weight is multiplied by a factor.
func (p *Part) scales() bool { return p.Scale != 0 && p.Scale != 1 }

// scale multiplies x by a factor, 0 standing for 1.
func scale(x []float32, by float32) {
	if by != 0 && by != 1 {
		kernels.Scale(x, x, by)
	}
}

// A Strip is a part and the tensor that has its rows.
type Strip struct {
	Part
	Weight Want
	tensor Tensor
}

// eachRun calls f for those of rows [from, from+n) of all strips that a strip has: n rows of its
// tensor from an element on, which are those from the one numbered at on.
func eachRun(strips []Strip, in, from, n int, f func(s *Strip, first, at, n int) error) error {
	at := 0
	for i := range strips {
		s := &strips[i]
		for from < s.Rows && at < n {
			rows := 1
			if s.Step == 1 {
				rows = min(s.Rows-from, n-at)
			}
			if err := f(s, s.row(from)*in, at, rows); err != nil {
				return err
			}
			at, from = at+rows, from+rows
		}
		from -= s.Rows
	}
	return nil
}
