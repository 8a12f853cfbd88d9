// Package avoformer is the root of the module: see package kernels for the
// kernels and package transformer for the layers made of them.
package avoformer

//go:generate env GOWORK=off go run -C asm ./cmd/kernelgen
