// Package classic has models as tutorials and libraries write them down: those of
// torch.nn.Transformer, d2l, Keras, timm's vision transformer and BLIP's text decoder, with their
// names of weights and their conventions for masks. For checkpoints of the hub see package models.
//
// Constructors take a configuration, names where there are several, the weights, and the prefix
// under which they are; [AttentionBackward] gives the gradients of attention maps that
// interpretability asks for. Unlike those of package models, the parts of these models are open to
// a look inside: see Trace of [transformer.Workspace].
//
// This package is experimental: see doc/stability.md.
package classic

import "github.com/avoformer/avoformer/transformer"

// addTo adds y to x.
func addTo(x, y []float32) {
	for i, v := range y {
		x[i] += v
	}
}

// finish returns the model of a constructor, or the error of loading it.
func finish[T any](model *T, l *transformer.Loader) (*T, error) {
	if err := l.Finish(); err != nil {
		return nil, err
	}
	return model, nil
}
