// Package avoformer is the root of the module: see package kernels for the kernels,
// package transformer for the layers made of them, and package models for whole models.
package avoformer

//go:generate go run -C asm ./cmd/kernelgen
