package checkpoint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// This file has a checkpoint with its adapters, as a source of the weights of both together.

// A Want is a tensor that a part of a model wants.
type Want struct {
	Name   string // in the model, by which formats are chosen
	Tensor string // in the checkpoint, by which adapters change it
	Shape  []int  // in which the model computes with it
	// Transposed says that matrices are stored [in, out]. Item is the number of the one that is
	// wanted of those that the tensor stacks.
	Transposed bool
	Item       int
	Integers   bool // integers are numbers too

	tied     string // the tensor that is read instead; "": Tensor
	original bool   // of the checkpoint's own tensors, those that have copies apart are read
}

// read is the name of the tensor that is read.
func (w *Want) read() string { return cmp.Or(w.tied, w.Tensor) }

// module is the name in the model without its last part.
func (w *Want) module() string { return w.Name[:max(strings.LastIndexByte(w.Name, '.'), 0)] }

// stored is the shape in the checkpoint.
func (w *Want) stored() []int {
	shape := slices.Clone(w.Shape)
	if n := len(shape); w.Transposed {
		shape[n-2], shape[n-1] = shape[n-1], shape[n-2]
	}
	return shape
}

// adapted is the tensors of a checkpoint and what adapters do to them, by the checkpoint's names.
type adapted struct {
	Source
	replaced map[string]Replacement
	added    map[string][]LowRank
	rows     map[string][]Rows
}

func newAdapted(src Source) adapted {
	return adapted{src, map[string]Replacement{}, map[string][]LowRank{}, map[string][]Rows{}}
}

// source returns where a tensor is read.
func (a *adapted) source(w Want) Source { return replaced{a.Source, a.replaced, w.original} }

// open returns a tensor as adapters make it, and all that is wrong.
func (a *adapted) open(w Want) (Tensor, []error) {
	t, err := a.source(w).Open(w.read(), w.stored())
	if err != nil {
		return nil, []error{err}
	}
	if errs := a.misfits(w); errs != nil {
		return nil, errs
	}
	if t.Integers() && !w.Integers {
		t = refused{t, check.Errorf(fault.ErrConfig, "%s has integers, which without a scale are not weights", w.read())}
	}
	if n := len(w.Shape); w.Transposed {
		t = transpose(t, w.Shape[n-1], w.Shape[n-2], w.Item)
	}
	if terms := a.terms(w.Tensor); terms != nil {
		t = added{t, terms}
	}
	if rows := a.rows[w.Tensor]; rows != nil {
		t = withRows{t, rows}
	}
	return t, nil
}

// refused is a tensor that cannot be read.
type refused struct {
	Tensor
	err error
}

func (r refused) Read([]float32, int) error { return r.err }

// misfits returns what adapters do to a tensor that its shape does not allow.
func (a *adapted) misfits(w Want) (errs []error) {
	for _, d := range append(a.terms(w.Tensor), a.beside(w.Tensor)...) {
		if err := d.fits(w.Tensor, w.Shape); err != nil {
			errs = append(errs, err)
		}
	}
	for _, r := range a.rows[w.Tensor] {
		if err := r.fits(w.Tensor, w.Shape); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// terms are those that become part of a tensor.
func (a *adapted) terms(tensor string) (all []LowRank) {
	for _, d := range a.added[tensor] {
		if d.Beside == 0 {
			all = append(all, d)
		}
	}
	return all
}

// beside are the terms that stay beside a tensor.
func (a *adapted) beside(tensor string) (all []LowRank) {
	for _, d := range a.added[tensor] {
		if d.Beside > 0 {
			all = append(all, d)
		}
	}
	return all
}

// changed reports whether adapters make another tensor of the one that is stored.
func (a *adapted) changed(tensor string) bool {
	return len(a.terms(tensor)) > 0 || len(a.rows[tensor]) > 0
}

// unused returns the names of terms that are added to none of the tensors.
func (a *adapted) unused(tensors map[string]bool) (names []string) {
	for tensor, terms := range a.added {
		for _, d := range terms {
			if !tensors[tensor] {
				names = append(names, d.Name)
			}
		}
	}
	return names
}
