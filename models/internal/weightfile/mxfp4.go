package weightfile

import (
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Weights in MXFP4 in safetensors files, as gpt-oss has them: X_blocks, [..., rows, blocks, 16], two codes of neighbours in
// a byte, and X_scales, [..., rows, blocks], are the tensor X, [..., rows, 32*blocks], in the blocks of GGUF. Source: the OCP
// Microscaling Formats specification, version 1.0.

// mxfp4Block is the elements of a block, and mxfp4Bytes its bytes: the scale before the codes.
const mxfp4Block, mxfp4Bytes = 32, 17

// bytesReader is a Reader that gives the bytes of tensors of uint8.
type bytesReader interface {
	transformer.Reader
	ReadBytes(dst []byte, name string, from int) error
}

// mxfp4Tensor is a tensor that is stored as two tensors, possibly in two files.
type mxfp4Tensor struct {
	name           string
	shape          []int
	blocks, scales bytesReader
}

// joinMXFP4 puts one tensor in place of the two that hold its blocks and scales.
func (w *files) joinMXFP4() error {
	for name, r := range w.of {
		stem, ok := strings.CutSuffix(name, "_blocks")
		if !ok || w.of[stem] != nil || w.of[stem+"_scales"] == nil {
			continue
		}
		t := mxfp4Tensor{name: stem}
		var both bool
		t.blocks, ok = r.(bytesReader)
		if t.scales, both = w.of[stem+"_scales"].(bytesReader); !ok || !both {
			continue
		}
		shape, _ := t.blocks.Shape(name)
		scales, _ := t.scales.Shape(stem + "_scales")
		n := len(scales)
		if n < 2 || len(shape) != n+1 || !slices.Equal(shape[:n], scales) || shape[n] != mxfp4Block/2 {
			return &fault.Error{Kind: fault.ErrFormat, Field: name, Err: check.Errorf(fault.ErrFormat, "shape %v, with scales of shape %v: want blocks of %d", shape, scales, mxfp4Block/2)}
		}
		t.shape = slices.Clone(scales)
		t.shape[n-1] *= mxfp4Block
		w.of[stem] = t
		delete(w.of, name)
		delete(w.of, stem+"_scales")
	}
	return nil
}

// Names implements transformer.Weights.
func (t mxfp4Tensor) Names() []string { return []string{t.name} }

// Shape implements transformer.Reader.
func (t mxfp4Tensor) Shape(string) ([]int, bool) { return t.shape, true }

// Format implements transformer.Reader.
func (t mxfp4Tensor) Format(string) kernels.Format { return kernels.FormatMXFP4 }

// Tensor implements transformer.Weights.
func (t mxfp4Tensor) Tensor(name string, shape ...int) ([]float32, error) {
	if !slices.Equal(shape, t.shape) {
		return nil, check.Errorf(fault.ErrMisshapen, "%s has shape %v, want %v", name, t.shape, shape)
	}
	x := make([]float32, check.Product(shape))
	return x, t.Read(x, name, 0)
}

// ReadBlocks sets dst to the blocks of GGUF from the given element on, which begins a block.
func (t mxfp4Tensor) ReadBlocks(dst []byte, _ string, from int) error {
	n := len(dst) / mxfp4Bytes
	codes, scales := make([]byte, n*mxfp4Block/2), make([]byte, n)
	if err := t.blocks.ReadBytes(codes, t.name+"_blocks", from/2); err != nil {
		return err
	}
	if err := t.scales.ReadBytes(scales, t.name+"_scales", from/mxfp4Block); err != nil {
		return err
	}
	for i, scale := range scales {
		block, own := dst[i*mxfp4Bytes:(i+1)*mxfp4Bytes], codes[i*mxfp4Block/2:(i+1)*mxfp4Block/2]
		block[0] = scale
		for j := range mxfp4Block / 4 { // neighbours become halves apart
			a, b := own[j], own[j+mxfp4Block/4]
			block[1+2*j], block[2+2*j] = a&15|b<<4, a>>4|b&0xf0
		}
	}
	return nil
}

// Read implements transformer.Reader.
func (t mxfp4Tensor) Read(dst []float32, name string, from int) error {
	first, last := from/mxfp4Block, (from+len(dst)+mxfp4Block-1)/mxfp4Block
	blocks := make([]byte, (last-first)*mxfp4Bytes)
	if err := t.ReadBlocks(blocks, name, first*mxfp4Block); err != nil {
		return err
	}
	x := make([]float32, (last-first)*mxfp4Block)
	kernels.PackBBlocks(kernels.FormatMXFP4, 1, len(x), func(_ int, dst []byte) { copy(dst, blocks) }).Column(x, 0)
	copy(dst, x[from-first*mxfp4Block:])
	return nil
}
