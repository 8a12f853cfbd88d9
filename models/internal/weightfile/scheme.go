package weightfile

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// What each kind of quantized weights has.

// A method is what a quant_method says.
type method struct {
	fields []string // those of quantization_config that are read, or say nothing about weights
	// scheme returns how the weights are stored, and warnings.
	scheme func(d configuration.Document) (scheme, []string, error)
}

// A scheme is how a kind of files stores quantized weights.
type scheme interface {
	// joinAll puts matrices in place of the tensors that hold their integers or codes, scales and
	// zeros.
	joinAll(w *files) (counts, error)
}

// unroundedRows is the warning about activations that files ask for in a form that no product here
// has: each row as integers of 8 bits or in FP8 with a scale of its own, or all rows with one.
const unroundedRows = "quantization_config asks for activations in fewer bits, too: they are not rounded as it says, but stay float32, or are rounded in blocks of 32 where weights are held in blocks"

// counts are how many tensors were joined, how many of them only float32 holds with the same
// numbers, and how many 16 bits.
type counts struct{ all, wide, halves int }

func (c *counts) add(t *joined) {
	switch c.all++; {
	case t.format == kernels.FormatF32:
		c.wide++
	case t.format < kernels.FormatInt8:
		c.halves++
	}
}
