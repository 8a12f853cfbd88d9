// Package models takes a folder in the form of the Hugging Face hub to results:
// [Open] reads its config.json and weights, and the [Model] has what the
// architecture can do: encode, classify, predict tokens, from which package generation
// makes texts.
//
// There is a file per architecture: its configuration with the names that
// config.json has, its composition of the layers of package transformer, the names
// of its weights, and a pass that reads like its paper. [Register] adds one.
//
// config.json decides. A value that is unknown or that contradicts another is an
// error that names the file, the field and the value, never a guess; and so is a
// tensor that is missing, of another shape, or left over.
//
// Models are immutable and may be shared by goroutines, each with a
// [transformer.Workspace] of its own.
package models

import "github.com/avoformer/avoformer/fault"

// The kinds of errors of this package, beside others of package transformer, whose Error tells the file, the
// field and the value.
var (
	ErrFolder    = fault.ErrFolder
	ErrModelType = fault.ErrModelType
	ErrConfig    = fault.ErrConfig
	ErrFormat    = fault.ErrFormat
	ErrWeights   = fault.ErrWeights
	ErrOption    = fault.ErrOption
)
