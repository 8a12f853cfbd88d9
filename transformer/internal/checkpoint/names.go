package checkpoint

import (
	"slices"
	"strings"
)

// This file finds the tensors of a checkpoint for the names of a model.

// names are the checkpoint's names of tensors.
type names struct {
	listed  map[string]bool
	renames []func(string) string // from the model's names, the last one first
}

func newNames(listed []string) names {
	n := names{listed: map[string]bool{}}
	for _, name := range listed {
		n.listed[name] = true
	}
	return n
}

// of returns the name of a tensor of the model. BERT's first checkpoints call weight and bias of a
// normalization gamma and beta.
func (n names) of(name string) string {
	for _, rename := range slices.Backward(n.renames) {
		name = rename(name)
	}
	if !n.listed[name] {
		for _, old := range [][2]string{{"weight", "gamma"}, {"bias", "beta"}} {
			if stem, ok := strings.CutSuffix(name, old[0]); ok && n.listed[stem+old[1]] {
				return stem + old[1]
			}
		}
	}
	return name
}

func (n names) has(name string) bool { return n.listed[n.of(name)] }
