package text_test

import "github.com/avoformer/avoformer/text"

// outputs takes the outputs out of the results of a call.
func outputs[T any](r text.Results[T], err error) ([]T, error) { return r.Outputs, err }
