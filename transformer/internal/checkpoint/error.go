package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// A LoadError is transformer.LoadError.
type LoadError struct {
	Missing   []string // names that the model needs and the weights lack
	Misshapen []string // what shape each has and should have
	LeftOver  []string // names that the model did not ask for
	other     []error  // failures to read, and configurations that make no sense
	hint      string
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

// count returns the number of things wrong.
func (e *LoadError) count() int {
	return len(e.Missing) + len(e.Misshapen) + len(e.LeftOver) + len(e.other)
}
