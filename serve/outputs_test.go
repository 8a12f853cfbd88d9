package serve

import "github.com/avoformer/avoformer/text"

// outputs and counted take the results of a call apart.
func outputs[T any](r text.Results[T], err error) ([]T, error) { return r.Outputs, err }

func counted[T any](r text.Results[T], err error) ([]T, text.Counts, error) {
	return r.Outputs, r.Counts, err
}
