package asm

import (
	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec"
)

// generateNEON is the backend for NEON, on arm64.
func generateNEON(t Tier, source string, kernels []Kernel) ([]byte, error) {
	file := arm64.NewFile()
	file.Header = header(source)
	file.Constraint = "arm64 && !purego"
	for _, k := range kernels {
		m := vec.NewNEON(file.Function(k.Name+t.Name, k.Signature))
		k.Emit(t, m)
		m.End()
	}
	return file.Assembly()
}
