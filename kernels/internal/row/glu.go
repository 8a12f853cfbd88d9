package row

import "github.com/avoformer/avoformer/kernels/internal/simd"

// This file has gated linear units.

// Gate is the function that GLU computes from gate and up: activation(s*gate)/s * (up+Offset),
// where s is Sharpness.
type Gate struct {
	Unary     func(isa simd.ISA, dst, x []float32) // the activation
	Kernel    simd.Kernel                          // the activation's kernel
	Sharpness float32                              // 0 means 1
	Limit     float32                              // clamps gate from above and up on both sides; 0 means no limit
	Offset    float32
}

// glu holds the arguments of GLU.
type glu struct {
	isa    simd.ISA
	budget budget
	dst, x []float32
	cols   int
	gate   Gate
}

var glus tasks[glu]

// GLU sets dst, [rows, cols], to the gated values of x, [rows, 2*cols]. A row of x has cols
// elements of gate, then cols of up.
func GLU(t, rows, cols int, dst, x []float32, g Gate) {
	isa := simd.Active()
	a := glu{isa: isa, dst: dst, x: x, cols: cols, gate: g}
	a.budget = min(BudgetOf(g.Kernel, isa), BudgetOf(simd.KernelMulVec, isa), SumElements)
	if alone(t, rows, 2*rows*cols) {
		gluRows(&a, 0, rows)
		return
	}
	glus.split(t, rows, cols, &a, gluRows)
}

func gluRows(a *glu, from, to int) {
	buf := rowBuffers.Get().(*rowBuffer)
	for r := from; r < to; r++ {
		dst, x := span(a.dst, r, r+1, a.cols), span(a.x, r, r+1, 2*a.cols)
		for i, end := range a.budget.pieces(a.cols) {
			a.gate.piece(a.isa, buf, dst[i:end], x[i:end], x[a.cols:][i:end])
		}
	}
	rowBuffers.Put(buf)
}

// piece computes a piece of a row.
func (g *Gate) piece(isa simd.ISA, buf *rowBuffer, dst, gate, up []float32) {
	if g.Limit > 0 {
		gate = g.limit(isa, buf[:len(gate)], gate, false)
		up = g.limit(isa, buf[SumElements:][:len(up)], up, true)
	}
	if g.Sharpness != 0 {
		simd.ScaleVec(isa, dst, gate, g.Sharpness)
		gate = dst
	}
	g.Unary(isa, dst, gate)
	if g.Sharpness != 0 {
		simd.ScaleVec(isa, dst, dst, 1/g.Sharpness)
	}
	if g.Offset == 0 {
		simd.MulVec(isa, dst, dst, up)
		return
	}
	sum := buf[:len(dst)]
	simd.MulVec(isa, sum, dst, up)
	if g.Offset != 1 {
		simd.ScaleVec(isa, dst, dst, g.Offset)
	}
	simd.AddVec(isa, dst, dst, sum)
}

// limit clamps x to at most Limit and, if below is set, to at least -Limit. It returns x itself if
// x is within the limits, and otherwise buf.
func (g *Gate) limit(isa simd.ISA, buf, x []float32, below bool) []float32 {
	within := simd.MaxVec(isa, x) <= g.Limit
	if below && within {
		simd.ScaleVec(isa, buf, x, -1)
		within = simd.MaxVec(isa, buf) <= g.Limit
	}
	if within { // nearly always
		return x
	}
	for i, v := range x {
		switch {
		case v > g.Limit:
			v = g.Limit
		case below && v < -g.Limit:
			v = -g.Limit
		}
		buf[i] = v
	}
	return buf
}
