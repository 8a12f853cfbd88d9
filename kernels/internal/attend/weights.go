package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/row"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file computes attention for callers that want the weights.

// withWeights computes the unit in the caller's memory for weights: all scores of the rows, then
// their softmax, then the products with the values.
func (u *unit) withWeights() {
	c, p, w := u.c, &u.c.P, u.w
	mem.Fill(w.max[:u.rows], mem.NegInf)
	clear(w.sum[:u.rows])
	for r := range u.rows {
		row := u.weights[r*u.g.lenK:][:u.g.lenK]
		clear(row[:u.lo])
		clear(row[u.hi:])
	}
	for j := u.lo; j < u.hi; j = u.after(j) {
		n := min(u.after(j), u.hi) - j
		u.packKeys(j, n)
		u.scores(u.weights[j:], u.g.lenK, 0, u.rows, j, n)
	}
	u.softmaxWeights()
	beta := float32(0)
	for j := u.lo; j < u.hi; j = u.after(j) {
		n := min(u.after(j), u.hi) - j
		u.packValues(j, n)
		u.values(u.weights[j:], u.g.lenK, 0, u.rows, n, beta)
		beta = 1
	}
	if u.hi <= u.lo {
		u.clearOutput(0, u.rows)
	}
	for r := range u.rows {
		if w.factor[r] = 1; p.HeadMask != nil {
			w.factor[r] = p.HeadMask[u.headOf(r)]
		}
	}
	scaleRows(c.isa, u.o, u.rows, p.ValueDim, u.ldo, w.factor[:u.rows]) // also without a head mask, to turn -0 into +0
	u.emptyRows()
}

// softmaxWeights turns the scores in the caller's memory into weights. A row begins at a multiple
// of its lanes; the scores before its first key are those of hidden keys.
func (u *unit) softmaxWeights() {
	c, w, ld := u.c, u.w, u.g.lenK
	if u.hi <= u.lo {
		return
	}
	lo := u.lo / order.DotLanes * order.DotLanes
	n := u.hi - lo
	for r := range u.rows {
		mem.Fill(u.weights[r*ld:][lo:u.lo], mem.NegInf)
	}
	for from, to := range row.BudgetOf(simd.KernelAttnSoftmax, c.isa).Rows(0, u.rows, n) {
		rows := u.weights[from*ld+lo:]
		simd.AttnSoftmax(c.isa, rows, to-from, n, ld, w.max[from:to], w.sum[from:to], w.factor[from:to])
		for r := from; r < to; r++ {
			w.factor[r] = order.AttentionFactor(1, u.withSink(r, w.sum[r]))
		}
		scaleRows(c.isa, rows, to-from, n, ld, w.factor[from:to])
		for r := from; r < to; r++ {
			clear(u.weights[r*ld:][lo:u.lo])
			if f := w.factor[r]; f != f { // weights of hidden keys have become NaN too
				u.clearHidden(u.weights[r*ld:][u.lo:u.hi], r, u.lo)
			}
		}
	}
}
