package transformer

import (
	"errors"
	"fmt"
)

// Errors that those of this package match, for use with errors.Is.
var (
	ErrConfig    = errors.New("transformer: invalid configuration")
	ErrShape     = errors.New("transformer: sizes do not fit")
	ErrToken     = errors.New("transformer: token outside the vocabulary")
	ErrTooLong   = errors.New("transformer: sequence too long")
	ErrMissing   = errors.New("transformer: weights are missing")
	ErrLeftOver  = errors.New("transformer: weights are left over")
	ErrMisshapen = errors.New("transformer: weights have the wrong shape")
)

// errorf is an error that matches sentinel.
func errorf(sentinel error, format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{sentinel}, args...)...)
}

// checkLen returns an error unless the slice called name has want elements.
func checkLen(name string, x []float32, want int, shape string) error {
	if len(x) != want {
		return errorf(ErrShape, "%s has %d elements, want %d (%s)", name, len(x), want, shape)
	}
	return nil
}

// positive returns an error unless all of the named sizes are at least 1.
func positive(what string, sizes ...size) error {
	for _, s := range sizes {
		if s.n < 1 {
			return errorf(ErrConfig, "%s: %s = %d, want at least 1", what, s.name, s.n)
		}
	}
	return nil
}

type size struct {
	name string
	n    int
}
