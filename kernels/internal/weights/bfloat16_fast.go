package weights

import (
	"sync"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has products of bfloat16 with instructions for them: tiles, or pairs in vectors. Two
// steps of a column are side by side in a panel, and the call converts rows of A to bfloat16. An
// element of C has the bits that simd.BFloat16Tiles or simd.BFloat16Pairs defines, for any number
// of rows and threads. These two kernels sum in different orders.

// pairSteps is the number of steps of k that a tile of bfloat16 holds. Rows of A and panels are
// padded with zeros to a multiple of it.
const pairSteps = tileDepth / 2

// fastFormat completes the record of BF16Fast. If the machine has no such instructions, or if the
// system refuses tiles and the machine has no pairs, the record is that of BF16.
func fastFormat(r *Record) {
	isa, nr := r.ISA, r.NR
	switch {
	case simd.KernelBFloat16Tiles.InAssembly(isa) && simd.KernelBFloat16Tiles.Permitted(isa):
		r.kernel, r.MR = simd.KernelBFloat16Tiles, tileRows
	case simd.KernelBFloat16Pairs.InAssembly(isa):
		r.kernel = simd.KernelBFloat16Pairs
	default:
		halfFormat(r, half.ToBFloat16s, half.BFloat16, simd.BFloat16Vec)
		return
	}
	r.PairsOf16, r.Steps, r.bytes = true, pairSteps, 2*pairSteps*nr
	r.pack = func(panel []byte, _, columns []float32, n, k int) {
		rows := roundedColumns.Get().(*RoundedRows)
		rows.round(isa, columns, k, n, k, filledPairs(k))
		pack.Transpose(isa, mem.Floats(panel), rows.pairs, n, rows.ld/2, nr, rows.ld/2)
		roundedColumns.Put(rows)
	}
	r.column = func(dst []float32, panel []byte, j int) {
		for p, x := 0, mem.Halves(panel); p < len(dst); p++ {
			dst[p] = half.BFloat16(x[p/2*2*nr+2*j+p%2])
		}
	}
}

// roundedColumns holds columns of B before they are stored as pairs.
var roundedColumns = sync.Pool{New: func() any { return new(RoundedRows) }}

// filledPairs returns k rounded up to a multiple of pairSteps.
func filledPairs(k int) int { return (k + pairSteps - 1) / pairSteps * pairSteps }

// RoundedRows holds rows of A as bfloat16, for products with panels.
type RoundedRows struct {
	ld    int
	pairs []float32 // each element has two numbers of 16 bits and is only copied
}

// round rounds m rows of k elements. The rounded rows are ld apart.
func (r *RoundedRows) round(isa simd.ISA, a []float32, lda, m, k, ld int) {
	filled := filledPairs(k)
	r.ld, r.pairs = ld, mem.Grow(r.pairs, m*ld/2)
	halves := mem.Halves(mem.Bytes(r.pairs))
	most := simd.KernelBFloat16Rows.On(isa).Elements
	rows, cols := max(1, most/k), max(1, most/pairSteps)*pairSteps // per call
	for i := 0; i < m; i += rows {
		for p := 0; p < k; p += cols {
			simd.BFloat16Rows(isa, halves[i*ld+p:], a[i*lda+p:], min(rows, m-i), min(cols, k-p), min(cols, filled-p), ld, lda)
		}
	}
}
