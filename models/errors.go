package models

import (
	"errors"
	"fmt"
)

// Errors that those of this package match, for use with errors.Is, beside those of
// package transformer.
var (
	ErrFolder    = errors.New("models: no model folder")             // what is needed is not there
	ErrModelType = errors.New("models: model_type is not supported") // nobody registered it
	ErrConfig    = errors.New("models: configuration")               // a value unknown, contradictory or of the wrong type
	ErrOption    = errors.New("models: option")                      // of Options
)

// errorf is an error that matches sentinel.
func errorf(sentinel error, format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{sentinel}, args...)...)
}
