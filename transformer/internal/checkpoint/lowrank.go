package checkpoint

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// This file adds products of small matrices to weights as they are read, or keeps them beside the weights: adapters.

// A LowRank is that of package transformer.
type LowRank struct {
	Name        string
	Left, Right []float32
	Rank        int
	Scale       float32
	Magnitude   []float32
	Tied        bool
	Beside      int
	Format      kernels.Format
}

// A Beside is what an adapter adds to some columns of a product with a matrix: Scale*x*Right*Left.
type Beside struct {
	Adapter     int // its number
	From        int // the first of the columns
	Rank        int
	Scale       float32
	Right, Left *kernels.PackedB // [in, Rank] and [Rank, columns]
}

// Add adds to the tensor that the checkpoint calls name.
func (s Scope) Add(name string, d LowRank) error {
	if d.Rank < 1 || len(d.Left)%d.Rank != 0 || len(d.Right)%d.Rank != 0 || len(d.Left) == 0 || len(d.Right) == 0 {
		return check.Errorf(fault.ErrShape, "%s: %d and %d elements of rank %d", d.Name, len(d.Left), len(d.Right), d.Rank)
	}
	if d.Magnitude != nil && (len(d.Magnitude) != len(d.Left)/d.Rank || len(s.added[name]) > 0 || d.Beside > 0) || slices.ContainsFunc(s.added[name], func(o LowRank) bool { return o.Magnitude != nil }) {
		return check.Errorf(fault.ErrShape, "%s: %d magnitudes of %d rows, want one of each and nothing else that is added to them", d.Name, len(d.Magnitude), len(d.Left)/d.Rank)
	}
	if s.added == nil {
		s.added = map[string][]LowRank{}
	}
	s.added[name] = append(s.added[name], d)
	return nil
}

// additions are the products that become part of a tensor of the model.
func (s Scope) additions(name string) []LowRank { return s.addedTo(name, false) }

// addedTo is what was added to a tensor of the model, to become part of it or to stay beside it.
func (s Scope) addedTo(name string, beside bool) (all []LowRank) {
	if s.added == nil {
		return nil
	}
	for _, d := range s.added[s.lookup(name)] {
		if d.Beside > 0 == beside {
			all = append(all, d)
		}
	}
	return all
}

// noneBeside notes an error if an adapter is to stay beside a tensor of which no linear layer is made.
func (s Scope) noneBeside(name string) {
	for _, d := range s.addedTo(name, true) {
		s.Fail(check.Errorf(fault.ErrConfig, "%s adds to %s, which is supported only for linear layers", d.Name, s.lookup(name)))
	}
}

// beside is what adapters add to the product with the rows of parts.
func (s Scope) beside(in int, parts []Part) (all []Beside) {
	var tensors []string
	for _, p := range parts {
		if name := p.Name + "weight"; !slices.Contains(tensors, name) {
			tensors = append(tensors, name)
			for _, d := range s.addedTo(name, true) {
				all = append(all, d.besideRows(in, p.Name, parts))
			}
		}
	}
	return all
}

// besideRows is d beside the rows of those of the parts that are of a tensor, and zeros for rows between them.
func (d *LowRank) besideRows(in int, tensor string, parts []Part) Beside {
	format := d.Format
	from, to, at := -1, 0, 0
	for _, p := range parts {
		if p.Name == tensor {
			if from < 0 {
				from = at
			}
			if to = at + p.Rows; p.Scale != 0 && p.Scale != 1 {
				format = kernels.FormatF32 // which holds what is scaled
			}
		}
		at += p.Rows
	}
	left := make([]float32, (to-from)*d.Rank)
	at = -from
	for _, p := range parts {
		for i := 0; p.Name == tensor && i < p.Rows; i++ {
			copy(left[(at+i)*d.Rank:][:d.Rank], d.Left[p.row(i)*d.Rank:])
		}
		if p.Name == tensor {
			scale(left[at*d.Rank:][:p.Rows*d.Rank], p.Scale)
		}
		at += p.Rows
	}
	pack := func(rows, cols int, x []float32) *kernels.PackedB {
		return kernels.PackBRows(format, rows, cols, func(j int, dst []float32) { copy(dst, x[j*cols:]) })
	}
	return Beside{d.Beside, from, d.Rank, d.Scale, pack(d.Rank, in, d.Right), pack(to-from, d.Rank, left)}
}

// takes notes an error unless what was added to a tensor of the model makes a matrix of this shape,
// in which the model multiplies with it.
func (s Scope) takes(name string, shape ...int) bool {
	ok := true
	for _, d := range append(s.additions(name), s.addedTo(name, true)...) {
		rows, cols := len(d.Left)/d.Rank, len(d.Right)/d.Rank
		if len(shape) == 1 {
			shape = []int{shape[0], 1}
		}
		if len(shape) != 2 || shape[0] != rows || shape[1] != cols {
			s.note(name, check.Errorf(fault.ErrMisshapen, "%s adds [%d %d] to %s, want %v", d.Name, rows, cols, s.lookup(name), shape))
			ok = false
		}
	}
	for _, r := range s.replacedRows(name) {
		if len(shape) != 2 || slices.Max(r.At) >= shape[0] || len(r.Values) != len(r.At)*shape[1] {
			s.note(name, check.Errorf(fault.ErrMisshapen, "%s has %d elements for %d rows up to %d of %s, want %v", r.Name, len(r.Values), len(r.At), slices.Max(r.At), s.lookup(name), shape))
			ok = false
		}
	}
	return ok
}

// changed reports whether what adapters do to a tensor makes it another one than is stored.
func (s Scope) changed(name string) bool {
	return len(s.additions(name)) > 0 || len(s.replacedRows(name)) > 0
}

// change makes of elements of a tensor what adapters make of them. They are whole rows of the model's matrix from the given
// element on.
func (s Scope) change(dst []float32, name string, from int) {
	if s.changed(name) {
		s.add(dst, name, from)
		s.scaleRows(dst, name, from)
		s.setRows(dst, name, from)
	}
}

// scaleRows gives rows the magnitudes that an adapter has for them.
func (s Scope) scaleRows(dst []float32, name string, from int) {
	for _, d := range s.additions(name) {
		cols := len(d.Right) / d.Rank
		for i := 0; d.Magnitude != nil && i < len(dst)/cols; i++ {
			row, sum := dst[i*cols:(i+1)*cols], 0.0
			for _, x := range row {
				sum += float64(x) * float64(x)
			}
			kernels.Scale(row, row, d.Magnitude[from/cols+i]/float32(math.Sqrt(sum)))
		}
	}
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

// unused returns the names of additions to tensors that no part of the model asked for.
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
