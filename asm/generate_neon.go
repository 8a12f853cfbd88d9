package asm

import (
	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec/neon"
)

// generateNEON is the backend for NEON, on arm64.
func generateNEON(source string, implementations []implementation) ([]byte, error) {
	file := arm64.NewFile()
	file.Header = header(source)
	file.Constraint = "arm64 && !purego"
	for _, im := range implementations {
		m := neon.New(file.Function(im.symbol(), im.kernel.signature()))
		im.on.Body(m)
		m.End()
	}
	return file.Assembly()
}
