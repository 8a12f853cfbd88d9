package gopeer

import (
	"github.com/viterin/vek/vek32"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

// vek computes with the library vek, which has no softmax: the softmax of a row consists of its
// vector operations.
func vek(d *workload.Data, out []float32) func() {
	x := d.In[0]
	switch d.Op {
	case workload.GemmNN:
		m, n := d.Dims[0], d.Dims[1]
		return func() {
			clear(out)
			vek32.MatMul_Into(out[:m*n], x, d.In[1], d.Dims[2])
		}
	case workload.Exp:
		return func() { vek32.Exp_Into(out, x) }
	case workload.Softmax:
		rows, cols := d.Dims[0], d.Dims[1]
		return func() {
			for r := range rows {
				y := out[r*cols : (r+1)*cols]
				in := x[r*cols : (r+1)*cols]
				vek32.SubNumber_Into(y, in, vek32.Max(in))
				vek32.Exp_Inplace(y)
				vek32.DivNumber_Inplace(y, vek32.Sum(y))
			}
		}
	}
	return nil
}
