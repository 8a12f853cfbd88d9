package models

import (
	"slices"
	"sync"

	"github.com/avoformer/avoformer/transformer"
)

// The registry of architectures by model_type.

// A Checkpoint is what an architecture makes a model from.
type Checkpoint struct {
	Config Config              // what all configurations have
	Loader *transformer.Loader // of the weights; Open calls its Finish
	JSON   Document            // config.json

	// llamaCpp tells that the tensors are as llama.cpp has them: the rotary pairs of
	// Llama's queries and keys are neighbours, and Gemma's normalizations hold 1+w.
	llamaCpp bool
}

// A Builder makes the model of a checkpoint. What is wrong with the weights it
// leaves to the Loader.
type Builder func(c *Checkpoint) (*Model, error)

var registry struct {
	sync.Mutex
	builders map[string]Builder
}

// Register makes Open use build for the model types, as config.json spells them. A
// later registration replaces an earlier one.
func Register(build Builder, modelTypes ...string) {
	registry.Lock()
	defer registry.Unlock()
	if registry.builders == nil {
		registry.builders = map[string]Builder{}
	}
	for _, t := range modelTypes {
		registry.builders[t] = build
	}
}

// ModelTypes lists the registered model types in alphabetical order.
func ModelTypes() []string {
	registry.Lock()
	defer registry.Unlock()
	var types []string
	for t := range registry.builders {
		types = append(types, t)
	}
	slices.Sort(types)
	return types
}

func builderOf(modelType string) (Builder, bool) {
	registry.Lock()
	defer registry.Unlock()
	b, ok := registry.builders[modelType]
	return b, ok
}
