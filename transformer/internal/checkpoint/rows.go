package checkpoint

import (
	"errors"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// This file replaces vectors of a table while the table is read.

// Rows are vectors that replace vectors of a table.
type Rows struct {
	Name   string    // for errors
	At     []int     // which
	Values []float32 // [len(At), dim]
	// Tied also replaces them in a projection that is tied to the table.
	Tied bool
}

// check returns an error unless the values are whole rows.
func (r *Rows) check() error {
	if len(r.At) == 0 || slices.Min(r.At) < 0 || len(r.Values)%len(r.At) != 0 {
		return check.Errorf(fault.ErrShape, "%s: %d elements for the rows %v", r.Name, len(r.Values), r.At)
	}
	return nil
}

// fits returns an error unless the tensor of that name and shape has the rows.
func (r *Rows) fits(name string, shape []int) error {
	if len(shape) != 2 || slices.Max(r.At) >= shape[0] || len(r.Values) != len(r.At)*shape[1] {
		return check.Errorf(fault.ErrMisshapen, "%s has %d elements for %d rows up to %d of %s, want %v", r.Name, len(r.Values), len(r.At), slices.Max(r.At), name, shape)
	}
	return nil
}

// withRows is a matrix of which rows are replaced. It is read in whole rows.
type withRows struct {
	Tensor
	rows []Rows
}

func (withRows) ReadBlocks([]byte, int) error { return errors.ErrUnsupported }

func (t withRows) Read(dst []float32, from int) error {
	if err := t.Tensor.Read(dst, from); err != nil {
		return err
	}
	for _, r := range t.rows {
		cols := len(r.Values) / len(r.At)
		for i, at := range r.At {
			if first := at*cols - from; first >= 0 && first < len(dst) {
				copy(dst[first:first+cols], r.Values[i*cols:])
			}
		}
	}
	return nil
}
