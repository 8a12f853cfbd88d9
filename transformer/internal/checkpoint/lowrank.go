package checkpoint

import (
	"errors"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// This file adds products of small matrices to a tensor while it is read: adapters that become part
// of the weights.

// A LowRank is the term that an adapter adds to a matrix: Scale*Left*Right.
type LowRank struct {
	Name        string    // for errors
	Left, Right []float32 // [rows, Rank] and [Rank, columns]
	Rank        int
	Scale       float32
	// Magnitude, unless nil, has for each row of the sum the length to which the row is scaled (Liu
	// et al., 2024, "DoRA: Weight-Decomposed Low-Rank Adaptation"). Nothing else can be added to
	// such a matrix.
	Magnitude []float32
	// Tied adds the term of a table also to a projection that is tied to it.
	Tied bool
	// Beside, unless 0, is the number of an adapter that stays beside the weights of linear layers.
	// It applies to sequences whose History has this number, in passes that begin with
	// Workspace.Adapt.
	Beside int
	Format kernels.Format // of an adapter beside the weights: float32 or 16 bits
}

// size is that of the term.
func (d *LowRank) size() (rows, cols int) { return len(d.Left) / d.Rank, len(d.Right) / d.Rank }

// check returns an error unless d is a matrix that can be added to what the other terms make.
func (d *LowRank) check(others []LowRank) error {
	if d.Rank < 1 || len(d.Left)%d.Rank != 0 || len(d.Right)%d.Rank != 0 || len(d.Left) == 0 || len(d.Right) == 0 {
		return check.Errorf(fault.ErrShape, "%s: %d and %d elements of rank %d", d.Name, len(d.Left), len(d.Right), d.Rank)
	}
	rows, _ := d.size()
	if d.Magnitude != nil && (len(d.Magnitude) != rows || len(others) > 0 || d.Beside > 0) || slices.ContainsFunc(others, func(o LowRank) bool { return o.Magnitude != nil }) {
		return check.Errorf(fault.ErrShape, "%s: %d magnitudes of %d rows, want one of each and nothing else that is added to them", d.Name, len(d.Magnitude), rows)
	}
	return nil
}

// fits returns an error unless d can be added to the tensor of that name and shape, in which the
// model multiplies with it.
func (d *LowRank) fits(name string, shape []int) error {
	rows, cols := d.size()
	if len(shape) == 1 {
		shape = []int{shape[0], 1}
	}
	if len(shape) != 2 || shape[0] != rows || shape[1] != cols {
		return check.Errorf(fault.ErrMisshapen, "%s adds [%d %d] to %s, want %v", d.Name, rows, cols, name, shape)
	}
	return nil
}

// added is a matrix to which others are added. It is read in whole rows.
type added struct {
	Tensor
	terms []LowRank
}

func (added) ReadBlocks([]byte, int) error { return errors.ErrUnsupported }

func (t added) Read(dst []float32, from int) error {
	if err := t.Tensor.Read(dst, from); err != nil {
		return err
	}
	for i := range t.terms {
		t.terms[i].add(dst, from)
	}
	for i := range t.terms {
		t.terms[i].scaleRows(dst, from)
	}
	return nil
}

// add adds to rows that begin with an element of the matrix.
func (d *LowRank) add(dst []float32, from int) {
	_, cols := d.size()
	kernels.Gemm(kernels.NoTrans, kernels.NoTrans, len(dst)/cols, cols, d.Rank, d.Scale, d.Left[from/cols*d.Rank:], d.Rank, d.Right, cols, 1, dst, cols)
}

// scaleRows gives rows the magnitudes that the adapter has for them.
func (d *LowRank) scaleRows(dst []float32, from int) {
	_, cols := d.size()
	for i := 0; d.Magnitude != nil && i < len(dst)/cols; i++ {
		row, sum := dst[i*cols:(i+1)*cols], 0.0
		for _, x := range row {
			sum += float64(x) * float64(x)
		}
		kernels.Scale(row, row, d.Magnitude[from/cols+i]/float32(math.Sqrt(sum)))
	}
}
