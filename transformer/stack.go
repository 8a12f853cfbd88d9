package transformer

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// StackConfig describes a stack of equal layers.
type StackConfig struct {
	Layers int
	Layer  LayerConfig
	// FinalNorm adds a normalization after the last layer.
	FinalNorm bool
}

// StackNames has an ecosystem's names of the parts of a stack, as prefixes that end with a dot.
type StackNames struct {
	Layers string // prefix of each, with %d for its index
	Layer  LayerNames
	Norm   string
}

// Stack is layers one after the other: an encoder, or with cross-attention a decoder.
type Stack struct {
	Dim    int
	Layers []*Layer
	Norm   *Norm // after the last layer, or nil
	name   string
}

// NewStack takes the weights with the given names under prefix, which ends with a dot unless it is
// empty.
func NewStack(c StackConfig, names StackNames, w Weights, prefix string) (*Stack, error) {
	return load(w, prefix, func(l *Loader) *Stack { return l.Stack(c, names) })
}

// Stack returns the stack whose weights have the given names.
func (l *Loader) Stack(c StackConfig, names StackNames) *Stack {
	layer, err := c.Layer.withDefaults()
	if l.Fail(cmp.Or(check.Positive("stack", check.Size("layers", c.Layers)), err)) {
		return nil
	}
	s := &Stack{Dim: layer.Self.Dim, name: l.Name()}
	const maxErrors = 1 << 14 // a hostile configuration may claim many layers, of which few exist
	for i := 0; i < c.Layers && l.plan.Errors() <= maxErrors; i++ {
		s.Layers = append(s.Layers, l.At(strings.ReplaceAll(names.Layers, "%d", strconv.Itoa(i))).Layer(layer, names.Layer))
	}
	if c.FinalNorm {
		s.Norm = l.At(names.Norm).Norm(layer.Norm)
	}
	return s
}

// Forward sets dst, [rows, Dim], to the output of the last layer and the final normalization. dst
// may be in.X. With a cache, in.X has the rows that follow those passed through the stack with that
// cache before, and attends to both. It then needs a mask that hides the rows after each row,
// unless each sequence has only one new row. cache may be nil.
func (s *Stack) Forward(ws *Workspace, dst []float32, in LayerInput, cache *Cache) error {
	if s == nil || s.Dim == 0 {
		return check.Errorf(fault.ErrConfig, "stack that NewStack did not make")
	}
	if err := ws.check(); err != nil {
		return err
	}
	rows := in.Batch.Rows()
	if err := check.Len("stack: x", in.X, rows*s.Dim, "rows*dim"); err != nil {
		return err
	}
	if err := check.Len("stack: dst", dst, rows*s.Dim, "rows*dim"); err != nil {
		return err
	}
	if err := cache.Begin(in.Batch, len(s.Layers)); err != nil {
		return err
	}
	for i, l := range s.Layers {
		if err := l.Forward(ws, dst, in, cache.Layer(i)); err != nil {
			return err
		}
		in.X = dst
	}
	cache.End(in.Batch)
	if s.Norm != nil {
		if err := s.Norm.Forward(ws, dst, dst); err != nil {
			return err
		}
		ws.ReportRows(s.name, "norm", dst, in.Batch, s.Dim)
	}
	return nil
}
