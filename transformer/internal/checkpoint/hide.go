package checkpoint

import (
	"path"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// This file hides some tensors of a source of weights.

// Hide returns w without the tensors whose names match one of the patterns of path.Match.
func Hide(w Weights, patterns ...string) Weights {
	h := hidden{w, patterns}
	if r, ok := w.(Reader); ok {
		return hiddenReader{r, h}
	}
	return h
}

type hidden struct {
	Weights
	patterns []string
}

func (h hidden) hides(name string) bool { return matches(h.patterns, name) }

// matches reports whether a name matches one of the patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}

func (h hidden) Names() []string {
	return slices.DeleteFunc(slices.Clone(h.Weights.Names()), h.hides)
}

func (h hidden) Tensor(name string, shape ...int) ([]float32, error) {
	if h.hides(name) {
		return nil, check.Errorf(fault.ErrMissing, "%s", name)
	}
	return h.Weights.Tensor(name, shape...)
}

// hiddenReader is hidden for tensors that are read piece by piece.
type hiddenReader struct {
	Reader
	hidden hidden
}

func (h hiddenReader) Names() []string { return h.hidden.Names() }

func (h hiddenReader) Tensor(name string, shape ...int) ([]float32, error) {
	return h.hidden.Tensor(name, shape...)
}

func (h hiddenReader) Shape(name string) ([]int, bool) {
	if h.hidden.hides(name) {
		return nil, false
	}
	return h.Reader.Shape(name)
}

func (h hiddenReader) Integers(name string) bool { return hasIntegers(h.Reader, name) }

func (h hiddenReader) ReadBlocks(dst []byte, name string, from int) error {
	return readBlocks(h.Reader, dst, name, from)
}
