// Package classic has models as tutorials and libraries write them down: those of
// torch.nn.Transformer, d2l, Keras, timm's vision transformer and BLIP's text decoder,
// with their names of weights and their conventions for masks. For checkpoints of the
// hub see package models.
//
// Constructors take a configuration, names where there are several, the weights, and the
// prefix under which they are; [AttentionBackward] gives the gradients of attention maps
// that interpretability asks for. Unlike those of package models, the parts of these models
// are open to a look inside: see Trace of [transformer.Workspace].
package classic

import (
	"fmt"

	"github.com/avoformer/avoformer/transformer"
)

// errorf is an error that matches sentinel.
func errorf(sentinel error, format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{sentinel}, args...)...)
}

type size struct {
	name string
	n    int
}

// positive returns an error unless all of the named sizes are at least 1.
func positive(what string, sizes ...size) error {
	for _, s := range sizes {
		if s.n < 1 {
			return errorf(transformer.ErrConfig, "%s: %s = %d, want at least 1", what, s.name, s.n)
		}
	}
	return nil
}

// checkLen returns an error unless the slice called name has want elements.
func checkLen(name string, x []float32, want int, shape string) error {
	if len(x) != want {
		return errorf(transformer.ErrShape, "%s has %d elements, want %d (%s)", name, len(x), want, shape)
	}
	return nil
}

// addTo adds y to x.
func addTo(x, y []float32) {
	for i, v := range y {
		x[i] += v
	}
}

// finish is what a constructor returns: the model, if loading it went well.
func finish[T any](model *T, l *transformer.Loader) (*T, error) {
	if err := l.Finish(); err != nil {
		return nil, err
	}
	return model, nil
}
