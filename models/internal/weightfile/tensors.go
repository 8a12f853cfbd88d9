package weightfile

import (
	"encoding/binary"
	"errors"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels"
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

// readNibbles returns n codes of 4 bits from one of them on, of a tensor of bytes. first is the
// lowest bit of the first of two codes in a byte.
func readNibbles(r transformer.Reader, name string, from, n, first int) ([]byte, error) {
	packed := make([]byte, (from+n+1)/2-from/2)
	if err := readBlocks(r, packed, name, from/2); err != nil {
		return nil, err
	}
	codes := make([]byte, n)
	for i := range codes {
		at := from%2 + i
		codes[i] = packed[at/2] >> (first ^ at%2*4) & 15
	}
	return codes, nil
}

// round rounds numbers to a format of 16 bits, if it is one.
func round(x []float32, f kernels.Format) {
	switch f {
	case kernels.FormatBF16:
		for i, v := range x {
			x[i] = half.BFloat16(half.ToBFloat16(v))
		}
	case kernels.FormatF16:
		for i, v := range x {
			x[i] = half.Float16(half.ToFloat16(v))
		}
	}
}

// halves sets dst to numbers of 16 bits that read gives, little-endian.
func halves(dst []byte, from int, f kernels.Format, read func(dst []float32, from int) error) error {
	x := make([]float32, len(dst)/2)
	if err := read(x, from); err != nil {
		return err
	}
	narrow := half.ToBFloat16
	if f == kernels.FormatF16 {
		narrow = half.ToFloat16
	}
	for i, v := range x {
		binary.LittleEndian.PutUint16(dst[2*i:], narrow(v))
	}
	return nil
}
