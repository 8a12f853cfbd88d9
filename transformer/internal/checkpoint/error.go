package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// A LoadError lists everything that is wrong with the weights of a model. It matches
// fault.ErrMissing, fault.ErrMisshapen and fault.ErrLeftOver if it has such entries.
type LoadError struct {
	Missing   []string // names that the model needs and the weights lack
	Misshapen []string // what shape each has and should have
	LeftOver  []string // names that the model did not ask for
	other     []error  // failures to read, and configurations that make no sense
	hint      string
	seen      map[string]bool // the elements of Missing and Misshapen
}

// Error names at most five of each kind, and counts the rest.
func (e *LoadError) Error() string {
	const most = 5
	var parts []string
	list := func(what string, items []string) {
		if len(items) == 0 {
			return
		}
		text := fmt.Sprintf("%d %s: %s", len(items), what, strings.Join(items[:min(len(items), most)], ", "))
		if len(items) > most {
			text += fmt.Sprintf(" and %d more", len(items)-most)
		}
		parts = append(parts, text)
	}
	list("missing", e.Missing)
	list("misshapen", e.Misshapen)
	list("left over", e.LeftOver)
	if len(parts) > 0 {
		parts[0] = fault.ErrWeights.Error() + ": " + parts[0]
	}
	for i, err := range e.other {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more errors", len(e.other)-most))
			break
		}
		parts = append(parts, err.Error())
	}
	if e.hint != "" {
		parts = append(parts, e.hint)
	}
	return strings.Join(parts, "; ")
}

// Unwrap lists the errors that e matches.
func (e *LoadError) Unwrap() []error {
	errs := slices.Clone(e.other)
	if len(e.Missing) > 0 {
		errs = append(errs, fault.ErrMissing)
	}
	if len(e.Misshapen) > 0 {
		errs = append(errs, fault.ErrMisshapen)
	}
	if len(e.LeftOver) > 0 {
		errs = append(errs, fault.ErrLeftOver)
	}
	return errs
}

// add sorts an error of a tensor.
func (e *LoadError) add(name string, err error) {
	list, text := &e.Missing, name
	switch {
	case errors.Is(err, fault.ErrMissing):
	case errors.Is(err, fault.ErrMisshapen):
		list, text = &e.Misshapen, strings.TrimPrefix(err.Error(), fault.ErrMisshapen.Error()+": ")
	default:
		e.other = append(e.other, err)
		return
	}
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	if !e.seen[text] {
		e.seen[text] = true
		*list = append(*list, text)
	}
}

// count returns the number of things wrong.
func (e *LoadError) count() int {
	return len(e.Missing) + len(e.Misshapen) + len(e.LeftOver) + len(e.other)
}

// fits returns an error unless there is a tensor, of the wanted shape.
func fits(name string, got []int, ok bool, want []int) error {
	switch {
	case !ok:
		return check.Errorf(fault.ErrMissing, "%s", name)
	case !slices.Equal(got, want):
		return check.Errorf(fault.ErrMisshapen, "%s has shape %v, want %v", name, got, want)
	}
	return nil
}
