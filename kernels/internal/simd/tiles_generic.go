package simd

import (
	"math"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/order"
)

// This file has products by tiles, and of bfloat16 by vectors, in pure Go; see asm/kernel/tiles.go
// and gemm_bfloat16.go.

func int8TilesGeneric(m, k, nr, panels int, a []int8, lda int, scale []float32, start []int32, b []uint8, ldb int, weight, bias []float32, _ []int32, c []float32, ldc int) {
	for i := range m {
		for q := range panels {
			for j := range nr {
				sum := start[i]
				for p := range k {
					sum += int32(a[i*lda+p]) * int32(b[q*ldb+p/4*4*nr+4*j+p%4])
				}
				y := float32(float32(float32(sum)*scale[i]) * weight[q*nr+j])
				if len(bias) > 0 {
					y += bias[q*nr+j]
				}
				c[i*ldc+q*nr+j] = y
			}
		}
	}
}

func bfloat16TilesGeneric(m, k, nr, panels int, a []uint16, lda int, b []uint16, ldb int, c []float32, ldc int) {
	const depth = 32 // steps of k that a tile holds
	for i := range m {
		for q := range panels {
			for j := range nr {
				sum := float32(0)
				for from := 0; from < k; from += depth {
					var both [2]float32
					for p := from; p < from+depth; p++ {
						x, y := half.BFloat16(a[i*lda+p]), half.BFloat16(b[q*ldb+p/2*2*nr+2*j+p%2])
						both[p%2] = flush(order.FMA(flush(x), flush(y), both[p%2]))
					}
					sum = flush(sum + flush(both[0]+both[1]))
				}
				c[i*ldc+q*nr+j] = sum
			}
		}
	}
}

func bfloat16PairsGeneric(m, k, nr int, a []uint16, lda int, b []uint16, _, add int, c []float32, ldc int) {
	for i := range m {
		for j := range nr {
			sum := float32(0)
			if add != 0 {
				sum = flush(c[i*ldc+j])
			}
			for p := range k {
				step := p ^ 1 // the odd one of a pair comes first
				x, y := half.BFloat16(a[i*lda+step]), half.BFloat16(b[step/2*2*nr+2*j+step%2])
				sum = flush(order.FMA(flush(x), flush(y), sum))
			}
			c[i*ldc+j] = sum
		}
	}
}

// flush returns x, or a zero with its sign if x is denormal.
func flush(x float32) float32 {
	if bits := math.Float32bits(x); bits&0x7f800000 == 0 {
		return math.Float32frombits(bits & 0x80000000)
	}
	return x
}

func bfloat16RowsGeneric(dst []uint16, x []float32, rows, cols, filled, lddst, ldx int) {
	for i := range rows {
		row := dst[i*lddst:][:filled]
		half.ToBFloat16s(row[:cols], x[i*ldx:][:cols])
		clear(row[cols:])
	}
}
