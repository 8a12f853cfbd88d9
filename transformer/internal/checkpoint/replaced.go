package checkpoint

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// This file has tensors, and rows of tensors, that take the place of those of the checkpoint.

// A Replacement is that of package transformer.
type Replacement struct {
	From  Reader
	Name  string
	Apart bool
}

// Rows is that of package transformer.
type Rows struct {
	Name   string
	At     []int
	Values []float32
	Tied   bool
}

// Replace has another tensor in place of the one that the checkpoint calls name, which it may lack.
func (s Scope) Replace(name string, by Replacement) {
	if s.replaced == nil {
		s.account.replaced = map[string]Replacement{}
	}
	s.replaced[name], s.names[name] = by, true
}

// SetRows has rows in place of those of the tensor that the checkpoint calls name.
func (s Scope) SetRows(name string, rows Rows) error {
	if len(rows.At) == 0 || slices.Min(rows.At) < 0 || len(rows.Values)%len(rows.At) != 0 {
		return check.Errorf(fault.ErrShape, "%s: %d elements for the rows %v", rows.Name, len(rows.Values), rows.At)
	}
	if s.rows == nil {
		s.account.rows = map[string][]Rows{}
	}
	s.rows[name] = append(s.rows[name], rows)
	return nil
}

// source is where the tensor name of the model is, and its name there.
func (s Scope) source(name string) (Weights, string) {
	if s.read != nil {
		s = *s.read
	}
	name = s.lookup(name)
	if by, ok := s.replaced[name]; ok && !(s.original && by.Apart) {
		return by.From, by.Name
	}
	return s.src, name
}

// replacedRows is what takes the place of rows of a tensor of the model.
func (s Scope) replacedRows(name string) []Rows {
	if s.rows == nil {
		return nil
	}
	return s.rows[s.lookup(name)]
}

// HasRows reports whether rows take the place of those of a table and of what is tied to it.
func (s Scope) HasRows(t *Table) bool {
	return slices.ContainsFunc(s.tables, func(u *unread) bool {
		return u.Table == t && slices.ContainsFunc(u.from.replacedRows("weight"), func(r Rows) bool { return r.Tied })
	})
}

// HasAdditions reports whether adapters add to a tensor of the model.
func (s Scope) HasAdditions(name string) bool {
	return len(s.additions(name)) > 0 || len(s.addedTo(name, true)) > 0
}

// setRows sets those of the rows of dst, from an element of the tensor on, in whose place there are others.
func (s Scope) setRows(dst []float32, name string, from int) {
	for _, r := range s.replacedRows(name) {
		cols := len(r.Values) / len(r.At)
		for i, at := range r.At {
			if first := at*cols - from; first >= 0 && first < len(dst) {
				copy(dst[first:first+cols], r.Values[i*cols:])
			}
		}
	}
}

// fits reports whether the checkpoint has a tensor in a shape.
func (s Scope) fits(name string, shape ...int) bool {
	got, ok := s.Shape(name)
	return !ok || slices.Equal(got, shape)
}
