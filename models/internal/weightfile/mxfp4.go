package weightfile

import (
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// Weights in MXFP4 in safetensors files, as gpt-oss has them: X_blocks, [..., rows, blocks, 16],
// two codes of neighbours in a byte, and X_scales, [..., rows, blocks], are the tensor X, [...,
// rows, 32*blocks], in the blocks of GGUF. Source: the OCP Microscaling Formats specification,
// version 1.0.

// mxfp4Block is the elements of a block, and mxfp4Bytes its bytes: the scale before the codes.
const mxfp4Block, mxfp4Bytes = 32, 17

// mxfp4Numbers are those of a tensor that is stored as two tensors, possibly in two files.
type mxfp4Numbers struct {
	blocks, scales transformer.Reader
	names          [2]string // of the two
}

// joinMXFP4 puts one tensor in place of the two that hold its blocks and scales.
func (w *files) joinMXFP4() error {
	for name, r := range w.of {
		stem, ok := strings.CutSuffix(name, "_blocks")
		beside := stem + "_scales"
		if !ok || w.of[stem] != nil || w.of[beside] == nil {
			continue
		}
		t := mxfp4Numbers{r, w.of[beside], [2]string{name, beside}}
		if dtypeOf(t.blocks, name) != safetensors.U8 || dtypeOf(t.scales, beside) != safetensors.U8 {
			continue
		}
		shape, _ := t.blocks.Shape(name)
		scales, _ := t.scales.Shape(beside)
		n := len(scales)
		if n < 2 || len(shape) != n+1 || !slices.Equal(shape[:n], scales) || shape[n] != mxfp4Block/2 {
			return &fault.Error{Kind: fault.ErrFormat, Field: name, Err: check.Errorf(fault.ErrFormat, "shape %v, with scales of shape %v: want blocks of %d", shape, scales, mxfp4Block/2)}
		}
		all := slices.Clone(scales)
		all[n-1] *= mxfp4Block
		w.join(&joined{name: stem, shape: all, format: kernels.FormatMXFP4, numbers: t}, name, beside)
	}
	return nil
}

// readBlocks implements numbers.
func (t mxfp4Numbers) readBlocks(dst []byte, from int) error {
	n := len(dst) / mxfp4Bytes
	codes, scales := make([]byte, n*mxfp4Block/2), make([]byte, n)
	if err := readBlocks(t.blocks, codes, t.names[0], from/2); err != nil {
		return err
	}
	if err := readBlocks(t.scales, scales, t.names[1], from/mxfp4Block); err != nil {
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

// read implements numbers.
func (t mxfp4Numbers) read(dst []float32, from int) error {
	first, last := from/mxfp4Block, (from+len(dst)+mxfp4Block-1)/mxfp4Block
	blocks := make([]byte, (last-first)*mxfp4Bytes)
	if err := t.readBlocks(blocks, first*mxfp4Block); err != nil {
		return err
	}
	x := make([]float32, (last-first)*mxfp4Block)
	kernels.PackBBlocks(kernels.FormatMXFP4, 1, len(x), func(_ int, dst []byte) { copy(dst, blocks) }).Column(x, 0)
	copy(dst, x[from-first*mxfp4Block:])
	return nil
}
