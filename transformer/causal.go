package transformer

import (
	"github.com/avoformer/avoformer/internal/matrix"
	"github.com/avoformer/avoformer/kernels"
)

// causalConvolution mixes each row of a sequence with the few rows before it, channel by channel.
// Rows before the first are zeros.
type causalConvolution struct {
	weight []float32 // [taps, dim], of which the last tap is for the row itself
	bias   []float32 // [dim], or nil
	dim    int
}

// taps loads the weight of a convolution as [taps, dim]. It is stored as [dim, 1, taps], and in
// GGUF files as [dim, taps].
func (l *Loader) taps(name string, dim, taps int) []float32 {
	shape := []int{dim, 1, taps}
	if stored, ok := l.Shape(name); ok && len(stored) == 2 {
		shape = []int{dim, taps}
	}
	stored := l.Tensor(name, shape...)
	weight := make([]float32, len(stored))
	matrix.Transpose(weight, stored, taps)
	return weight
}

// past returns the number of rows that a row is mixed with.
func (c causalConvolution) past() int { return len(c.weight)/c.dim - 1 }

// row sets y, [dim], to the convolution at row i of x. The rows of x begin ld elements apart;
// before, [past, dim], has the rows that precede them. product is scratch memory, [dim].
func (c causalConvolution) row(y, product, before, x []float32, i, ld int) {
	past := c.past()
	for tap := range past + 1 {
		row := before
		if at := i + tap; at < past {
			row = before[at*c.dim:][:c.dim]
		} else {
			row = x[(at-past)*ld:][:c.dim]
		}
		weight := c.weight[tap*c.dim:][:c.dim]
		if tap == 0 {
			kernels.Mul(y, weight, row)
			continue
		}
		kernels.Mul(product, weight, row)
		kernels.Add(y, y, product)
	}
	if c.bias != nil {
		kernels.Add(y, y, c.bias)
	}
}

// remember sets to, [past, dim], to the last rows of before followed by the n rows of x. to may be
// before.
func (c causalConvolution) remember(to, before, x []float32, n, ld int) {
	past := c.past()
	for i := range past {
		if at := i + n; at < past {
			copy(to[i*c.dim:][:c.dim], before[at*c.dim:])
		} else {
			copy(to[i*c.dim:][:c.dim], x[(at-past)*ld:])
		}
	}
}
