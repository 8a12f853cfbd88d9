// Package models runs models from folders of the Hugging Face hub. [Open] reads config.json and the
// weights and returns a [Model], which can do what its architecture can: encode, classify, or
// predict tokens, from which package generation makes texts.
//
// There is a file per architecture: its configuration with the names that config.json has, its
// composition of the layers of package transformer, the names of its weights, and a pass that reads
// like its paper. [Register] adds one. The other files lead from a folder to a Model: open.go and
// gguf.go say where its source of tensors is, options.go how it is opened, config.go what all kinds
// of config.json say, load.go plans, checks and packs, checkpoint.go has what an architecture makes
// a model from, model.go and abilities.go what a model can do, use.go what it is for, and
// sentence.go what files beside it add.
//
// config.json decides. A value that is unknown, or that contradicts another, is never guessed: it
// is an error that names the file, the field and the value. A tensor that is missing, has the wrong
// shape or is left over is an error too.
//
// Models are immutable and may be shared by goroutines, each with a [transformer.Workspace] of its
// own.
//
// This package is settling: see doc/stability.md.
package models
