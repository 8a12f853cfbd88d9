package gopeer

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

func gonum(d *workload.Data, out []float32) func() {
	s := d.Dims
	h, trans := 1, blas.NoTrans
	switch d.Op {
	case workload.GemmNN:
	case workload.GemmNT:
		trans = blas.Trans
	case workload.BatchGemmNN, workload.BatchGemmNT:
		h, s = s[0], s[1:]
		if d.Op == workload.BatchGemmNT {
			trans = blas.Trans
		}
	default:
		return nil
	}
	m, n, k := s[0], s[1], s[2]
	return func() {
		for i := range h {
			a := blas32.General{Rows: m, Cols: k, Stride: k, Data: d.In[0][i*m*k : (i+1)*m*k]}
			b := blas32.General{Rows: k, Cols: n, Stride: n, Data: d.In[1][i*n*k : (i+1)*n*k]}
			if trans == blas.Trans {
				b.Rows, b.Cols, b.Stride = n, k, k
			}
			c := blas32.General{Rows: m, Cols: n, Stride: n, Data: out[i*m*n : (i+1)*m*n]}
			blas32.Gemm(blas.NoTrans, trans, 1, a, b, 0, c)
		}
	}
}
