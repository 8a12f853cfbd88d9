package models

import (
	"path"
	"strings"

	"github.com/avoformer/avoformer/kernels"
)

// This file decides in which precision the weights of a model are held.

// Options say how a model is held. The zero value is as everywhere here: float32.
type Options struct {
	// Weights is the format that the weights of linear layers are packed in.
	//
	// Formats of 16 bits take half the memory and, where few rows are computed at a
	// time, half the time; results are those of the rounded weights.
	//
	// kernels.FormatInt8 takes a quarter of both, and makes integers of what is multiplied
	// with the weights, block by block. It holds for the layers that repeat, those with a
	// number in their name; heads, poolers and the embeddings tied to a head stay as
	// the checkpoint stores them.
	Weights kernels.Format
	// Formats decides for single layers, before Weights: the first entry counts that matches.
	Formats []NamedFormat
}

// NamedFormat is the format for the weights whose name in the model, such as
// "model.layers.0.mlp.up_proj.weight", matches Pattern by the rules of path.Match: "lm_head.*",
// "*.mlp.*".
type NamedFormat struct {
	Pattern string
	Format  kernels.Format
}

// format is the format for a weight of a linear layer; the checkpoint has it as stored.
func (o Options) format(name string, stored kernels.Format) kernels.Format {
	for _, f := range o.Formats {
		if ok, _ := path.Match(f.Pattern, name); ok {
			return f.Format
		}
	}
	if o.Weights == kernels.FormatInt8 && !repeats(name) {
		return stored
	}
	return o.Weights
}

// check returns an error if there is no such format, or a pattern is malformed.
func (o Options) check() error {
	for _, f := range append([]NamedFormat{{Format: o.Weights}}, o.Formats...) {
		if _, err := path.Match(f.Pattern, ""); err != nil {
			return errorf(ErrOption, "pattern %q: %w", f.Pattern, err)
		}
		if f.Format > kernels.FormatInt8 {
			return errorf(ErrOption, "there is no weight format %v", f.Format)
		}
	}
	return nil
}

// repeats reports whether a name is that of a layer among several: one of its parts is
// a number.
func repeats(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			return true
		}
	}
	return false
}
