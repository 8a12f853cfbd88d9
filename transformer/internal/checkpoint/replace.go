package checkpoint

import "github.com/avoformer/avoformer/kernels"

// This file replaces tensors of a checkpoint by those of another source.

// A Replacement is a tensor that replaces one of the checkpoint's.
type Replacement struct {
	From Reader
	Name string // in From
	// Apart keeps the checkpoint's tensor for a projection that is tied to it.
	Apart bool
}

// replaced is a Source with other tensors in place of some of its own, which it may lack.
type replaced struct {
	Source
	by       map[string]Replacement // by the names of the Source
	original bool                   // without those that are Apart
}

func (r replaced) of(name string) (by Replacement, ok bool) {
	by, ok = r.by[name]
	return by, ok && !(r.original && by.Apart)
}

func (r replaced) Shape(name string) ([]int, bool) {
	if by, ok := r.of(name); ok {
		return by.From.Shape(by.Name)
	}
	return r.Source.Shape(name)
}

func (r replaced) Format(name string) kernels.Format {
	if by, ok := r.of(name); ok {
		return by.From.Format(by.Name)
	}
	return r.Source.Format(name)
}

func (r replaced) Open(name string, shape []int) (Tensor, error) {
	if by, ok := r.of(name); ok {
		return files{by.From}.Open(by.Name, shape)
	}
	return r.Source.Open(name, shape)
}
