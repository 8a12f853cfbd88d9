package bulk_test

import "github.com/avoformer/avoformer/text"

// outputs returns the outputs in the results of a call.
func outputs[T any](r text.Results[T], err error) ([]T, error) { return r.Outputs, err }
