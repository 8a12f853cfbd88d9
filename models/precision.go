package models

import (
	"path"
	"strings"

	"github.com/avoformer/avoformer/kernels"
)

// This file decides in which precision the weights of a model are held.

// Options say how a model is held. The zero value is as everywhere here: linear layers in
// float32, or as a GGUF file has them; tables of vectors as they are stored.
type Options struct {
	// Weights is the format that the weights of linear layers are packed in. FormatF32 leaves
	// those of a GGUF file in its formats.
	//
	// Formats of 16 bits take half the memory and, where few rows are computed at a
	// time, half the time; results are those of the rounded weights.
	//
	// kernels.FormatInt8 takes a quarter of both, and makes integers of what is multiplied
	// with the weights, block by block, as some machines do with the formats of GGUF. These
	// formats hold for the layers that repeat, those with a number in their name; heads,
	// poolers and the embeddings tied to a head stay as the checkpoint stores them.
	Weights kernels.Format
	// Formats decides for single weights, before Weights: the first entry counts that matches.
	// It decides for tables of vectors too.
	Formats []NamedFormat
	// Cache is the format in which caches hold keys and values: float32, 16 bits, or int8 with a
	// scale for each row of a head; those of an encoder's memory stay float32.
	Cache kernels.Format

	asStored bool // linear layers too, instead of float32
}

// NamedFormat is the format for the weights whose name in the model, such as
// "model.layers.0.mlp.up_proj.weight", matches Pattern by the rules of path.Match: "lm_head.*",
// "*.mlp.*".
type NamedFormat struct {
	Pattern string
	Format  kernels.Format
}

// format is the format for a weight of a linear layer, or a table; the checkpoint has it as
// stored.
func (o Options) format(name string, stored kernels.Format, table bool) kernels.Format {
	for _, f := range o.Formats {
		if ok, _ := path.Match(f.Pattern, name); ok {
			return f.Format
		}
	}
	switch {
	case table,
		o.Weights == kernels.FormatF32 && o.asStored,
		o.Weights >= kernels.FormatInt8 && !repeats(name):
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
		if _, err := kernels.ParseFormat(f.Format.String()); err != nil {
			return errorf(ErrOption, "there is no weight format %v", f.Format)
		}
	}
	if o.Cache > kernels.FormatInt8 {
		return errorf(ErrOption, "cache in format %v, want f32, bf16, f16 or int8", o.Cache)
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
