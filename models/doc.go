// Package models runs models from folders of the Hugging Face hub. [Open] reads
// config.json and the weights and returns a [Model], which can do what its
// architecture can: encode, classify, or predict tokens, from which package generation
// makes texts.
//
// There is a file per architecture: its configuration with the names that
// config.json has, its composition of the layers of package transformer, the names
// of its weights, and a pass that reads like its paper. [Register] adds one. All other files
// are checkpoint.go, config.go, gguf.go, model.go, open.go, options.go and use.go: from a folder to
// a Model, and what the model is for.
//
// config.json decides. A value that is unknown, or that contradicts another, is
// never guessed: it is an error that names the file, the field and the value. A
// tensor that is missing, has the wrong shape or is left over is an error too.
//
// Models are immutable and may be shared by goroutines, each with a
// [transformer.Workspace] of its own.
package models
