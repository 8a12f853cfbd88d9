package checkpoint

import (
	"slices"

	"github.com/avoformer/avoformer/kernels"
)

// This file has adapters that stay separate from the weights of a linear layer.

// A Beside is what an adapter adds to some columns of a product with a matrix: Scale*x*Right*Left.
type Beside struct {
	Adapter     int // its number
	From        int // the first of the columns
	Rank        int
	Scale       float32
	Right, Left *kernels.PackedB // [in, Rank] and [Rank, columns]
}

// besides returns what adapters add to the product with a matrix.
func (a *adapted) besides(m *matrix) (all []Beside) {
	var tensors []string
	for _, s := range m.Strips {
		if slices.Contains(tensors, s.Weight.Tensor) {
			continue
		}
		tensors = append(tensors, s.Weight.Tensor)
		for _, d := range a.beside(s.Weight.Tensor) {
			all = append(all, d.besideRows(m, s.Weight.Tensor))
		}
	}
	return all
}

// besideRows is d beside the rows of a matrix that are of a tensor, and zeros for rows between
// them.
func (d *LowRank) besideRows(m *matrix, tensor string) Beside {
	format := d.Format
	from, to, at := -1, 0, 0
	for _, s := range m.Strips {
		if s.Weight.Tensor == tensor {
			if from < 0 {
				from = at
			}
			if to = at + s.Rows; s.scales() {
				format = kernels.FormatF32 // which holds what is scaled
			}
		}
		at += s.Rows
	}
	left := make([]float32, (to-from)*d.Rank)
	at = -from
	for _, s := range m.Strips {
		if s.Weight.Tensor == tensor {
			for i := range s.Rows {
				copy(left[(at+i)*d.Rank:][:d.Rank], d.Left[s.row(i)*d.Rank:])
			}
			scale(left[at*d.Rank:][:s.Rows*d.Rank], s.Scale)
		}
		at += s.Rows
	}
	pack := func(rows, cols int, x []float32) *kernels.PackedB {
		return kernels.PackBRows(format, rows, cols, func(j int, dst []float32) { copy(dst, x[j*cols:]) })
	}
	return Beside{d.Beside, from, d.Rank, d.Scale, pack(d.Rank, m.In, d.Right), pack(to-from, d.Rank, left)}
}
