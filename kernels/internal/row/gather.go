package row

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Rows that are picked from a matrix, and gated rows: what a mixture of experts does around its products.

// Gather sets row r of dst, [rows, cols], to residual's plus the sum of weight[r*per+j] times the row
// index[r*per+j] of x, in this order. Weight nil is 1, residual nil is 0.
func Gather(t, rows, cols, per int, dst, x []float32, index []int32, weight, residual []float32) {
	c := task{isa: simd.Active(), dst: dst, x: x, weight: weight, sum: residual, index: index, cols: cols, per: per, do: gather,
		budget: BudgetOf(simd.KernelAXPYVec, simd.Active())}
	if alone(t, rows, rows*cols*per) {
		gather(&c, 0, rows)
		return
	}
	split(t, rows, cols, &c)
}

func gather(c *task, from, to int) {
	for r := from; r < to; r++ {
		dst, begun := c.at(c.dst, r, r+1), true
		switch {
		case c.sum == nil:
			begun = false
		case &dst[0] != &c.sum[r*c.cols]:
			copy(dst, c.at(c.sum, r, r+1))
		}
		for j := r * c.per; j < (r+1)*c.per; j++ {
			x, by := c.at(c.x, int(c.index[j]), int(c.index[j])+1), float32(1)
			if c.weight != nil {
				by = c.weight[j]
			}
			switch {
			case begun:
				scaledPieces(simd.AXPYVec, c.isa, c.budget, by, dst, x)
			case c.weight == nil:
				copy(dst, x)
			default:
				scaledPieces(simd.ScaleVec, c.isa, c.budget, by, dst, x)
			}
			begun = true
		}
		if !begun {
			clear(dst)
		}
	}
}

// GLU sets dst, [rows, cols], to activation(gate)*up for x, [rows, 2*cols], whose rows have gate before up.
func GLU(t, rows, cols int, dst, x []float32, g Gate) {
	b := min(BudgetOf(g.Kernel, simd.Active()), BudgetOf(simd.KernelMulVec, simd.Active()), SumElements)
	c := task{isa: simd.Active(), dst: dst, x: x, cols: cols, gate: g, do: glu, budget: b}
	if alone(t, rows, 2*rows*cols) {
		glu(&c, 0, rows)
		return
	}
	split(t, rows, cols, &c)
}

func glu(c *task, from, to int) {
	buf := rowBuffers.Get().(*rowBuffer)
	for r := from; r < to; r++ {
		for i, end := range c.budget.pieces(c.cols) {
			at := r * 2 * c.cols
			c.gate.piece(c.isa, buf, c.dst[r*c.cols+i:r*c.cols+end], c.x[at+i:at+end], c.x[at+c.cols+i:at+c.cols+end])
		}
	}
	rowBuffers.Put(buf)
}

// piece sets dst to the gated values of a piece of a row.
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

// limit is x with Limit as its most, and if below is set -Limit as its least: x itself, or in buf.
func (g *Gate) limit(isa simd.ISA, buf, x []float32, below bool) []float32 {
	within := simd.MaxVec(isa, x) <= g.Limit
	if below && within {
		simd.ScaleVec(isa, buf, x, -1)
		within = simd.MaxVec(isa, buf) <= g.Limit
	}
	if within { // as nearly always
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
