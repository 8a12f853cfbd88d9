package weightfile

import (
	"errors"

	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// What readers say of a tensor, and blocks.

// hasIntegers reports whether r says that a tensor has integers.
func hasIntegers(r transformer.Reader, name string) bool {
	i, ok := r.(transformer.IntegerReader)
	return ok && i.Integers(name)
}

// readBlocks reads blocks as r stores them, if r can do that.
func readBlocks(r transformer.Reader, dst []byte, name string, from int) error {
	if b, ok := r.(transformer.BlockReader); ok {
		return b.ReadBlocks(dst, name, from)
	}
	return errors.ErrUnsupported
}

// parts is how many blocks of a size n elements are.
func parts(n, size int) int {
	size = max(size, 1)
	whole := n / size
	if n%size != 0 {
		whole++
	}
	return whole
}

// dtypeOf returns the type of a tensor's elements, "" if it is not known.
func dtypeOf(r transformer.Reader, name string) safetensors.DType {
	if d, ok := r.(interface {
		DType(name string) safetensors.DType
	}); ok {
		return d.DType(name)
	}
	return ""
}

// sizes are the bytes of an element.
var sizes = map[safetensors.DType]int{
	safetensors.I8: 1, safetensors.U8: 1, safetensors.F8E4M3: 1, safetensors.F8E5M2: 1,
	safetensors.F16: 2, safetensors.BF16: 2, safetensors.I32: 4, safetensors.F32: 4, safetensors.I64: 8,
}
