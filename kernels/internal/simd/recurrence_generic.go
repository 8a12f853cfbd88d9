package simd

import "github.com/avoformer/avoformer/kernels/internal/order"

// stateColumns is the number of columns of a state that are computed at a time.
const stateColumns = 64

func deltaRowsGeneric(dst, state []float32, ld int, q, k, v []float32, decay, beta float32) {
	stateRowsGeneric(dst, state, ld, q, k, v, decay, beta, true)
}

func scanRowsGeneric(dst, state []float32, ld int, q, k, v []float32, decay, beta float32) {
	stateRowsGeneric(dst, state, ld, q, k, v, decay, beta, false)
}

func stateRowsGeneric(dst, state []float32, ld int, q, k, v []float32, decay, beta float32, corrects bool) {
	for from := 0; from < len(dst); from += stateColumns {
		to := min(from+stateColumns, len(dst))
		stateColumnsGeneric(dst[from:to], state[min(from, len(state)):], ld, q, k, v[from:to], decay, beta, corrects)
	}
}

// stateColumnsGeneric computes at most stateColumns columns.
func stateColumnsGeneric(dst, state []float32, ld int, q, k, v []float32, decay, beta float32, corrects bool) {
	var added [stateColumns]float32
	d := added[:len(dst)]
	if corrects {
		for r, e := range k {
			for c, x := range state[r*ld:][:len(d)] {
				d[c] = order.FMA(e, float32(x*decay), d[c])
			}
		}
	}
	for c, x := range v[:len(d)] {
		d[c] = float32((x - d[c]) * beta)
	}
	clear(dst)
	for r, e := range k {
		row, f := state[r*ld:][:len(d)], q[r]
		for c, x := range row {
			x = order.FMA(e, d[c], float32(x*decay))
			row[c] = x
			dst[c] = order.FMA(f, x, dst[c])
		}
	}
}
