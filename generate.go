// Package avoformer is the root of the module: see package kernels for the kernels, package
// transformer for the layers made of them, package models for whole models, and package generation
// for the tokens that language models make.
package avoformer

//go:generate go run -C asm ./cmd/kernelgen
