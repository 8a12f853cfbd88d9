package simd

import "github.com/avoformer/avoformer/kernels/internal/order"

// This file has the kernels on parts of matrices that the products need, in pure Go.

func copyRowsGeneric(dst, x []float32, rows, cols, lddst, ldx int) {
	for i := range rows {
		copy(dst[i*lddst:][:cols], x[i*ldx:])
	}
}

func addRowsGeneric(dst, x []float32, rows, cols, lddst, ldx int) {
	for i := range rows {
		d, v := dst[i*lddst:][:cols], x[i*ldx:][:cols]
		for j := range d {
			d[j] += v[j]
		}
	}
}

// transposeRowsGeneric works on blocks of 4 x 4, so that each cache line of either matrix is
// fetched once.
func transposeRowsGeneric(dst, x []float32, rows, cols, lddst, ldx int) {
	for j := 0; j+4 <= cols; j += 4 {
		for i := 0; i+4 <= rows; i += 4 {
			x0, x1, x2, x3 := x[i*ldx+j:][:4], x[(i+1)*ldx+j:][:4], x[(i+2)*ldx+j:][:4], x[(i+3)*ldx+j:][:4]
			for c := range 4 {
				d := dst[(j+c)*lddst+i:][:4]
				d[0], d[1], d[2], d[3] = x0[c], x1[c], x2[c], x3[c]
			}
		}
	}
}

// activation is the function that finishRows applies.
type activation uint8

const (
	identity activation = iota
	relu
	gelu
	geluTanh
	silu
)

func finishIdentityGeneric(dst, x, bias, residual []float32, rows, cols, lddst, ldresidual int) {
	finishRows(identity, dst, x, bias, residual, rows, cols, lddst, ldresidual)
}

func finishReLUGeneric(dst, x, bias, residual []float32, rows, cols, lddst, ldresidual int) {
	finishRows(relu, dst, x, bias, residual, rows, cols, lddst, ldresidual)
}

func finishGELUGeneric(dst, x, bias, residual []float32, rows, cols, lddst, ldresidual int) {
	finishRows(gelu, dst, x, bias, residual, rows, cols, lddst, ldresidual)
}

func finishGELUTanhGeneric(dst, x, bias, residual []float32, rows, cols, lddst, ldresidual int) {
	finishRows(geluTanh, dst, x, bias, residual, rows, cols, lddst, ldresidual)
}

func finishSiLUGeneric(dst, x, bias, residual []float32, rows, cols, lddst, ldresidual int) {
	finishRows(silu, dst, x, bias, residual, rows, cols, lddst, ldresidual)
}

func finishRows(act activation, dst, x, bias, residual []float32, rows, cols, lddst, ldresidual int) {
	var buf [64]float32 // the sum, since dst may be the residual
	y := buf[:cols]
	bias = bias[:cols]
	for i := range rows {
		v := x[i*cols:][:cols]
		for j := range y {
			y[j] = v[j] + bias[j]
		}
		switch act { // not a function value: y would escape to the heap
		case relu:
			reluVecGeneric(y, y)
		case gelu:
			geluVecGeneric(y, y)
		case geluTanh:
			geluTanhVecGeneric(y, y)
		case silu:
			siluVecGeneric(y, y)
		}
		d, r := dst[i*lddst:][:cols], residual[i*ldresidual:][:cols]
		for j := range d {
			d[j] = y[j] + r[j]
		}
	}
}

func gemvPanelsGeneric(panels, nr int, alpha float32, a []float32, b []float32, panel int, beta float32, c []float32, ldc, _ int) {
	for q := range panels {
		panelGeneric(1, nr, len(a), alpha, a, len(a), b[q*panel:], nr, beta, c[q*ldc:], ldc)
	}
}

func gemvPanelsFloat16Generic(panels, nr int, alpha float32, a []float32, b []uint16, panel int, beta float32, c []float32, ldc, _ int) {
	for q := range panels {
		gemmPanelFloat16Generic(1, nr, len(a), alpha, a, len(a), b[q*panel:], beta, c[q*ldc:], ldc)
	}
}

func gemvPanelsBFloat16Generic(panels, nr int, alpha float32, a []float32, b []uint16, panel int, beta float32, c []float32, ldc, _ int) {
	for q := range panels {
		gemmPanelBFloat16Generic(1, nr, len(a), alpha, a, len(a), b[q*panel:], beta, c[q*ldc:], ldc)
	}
}

func gemvRowsGeneric(c, a, b []float32, ldb, _ int) {
	for p, v := range a {
		order.AddProducts(c, v, b[p*ldb:])
	}
}

func gemvDotGeneric(alpha float32, c, a, b []float32, ldb, _ int) {
	gemmDotGeneric(1, len(c), len(a), alpha, a, len(a), b, ldb, c, len(c))
}
