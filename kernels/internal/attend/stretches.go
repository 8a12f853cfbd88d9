package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/order"
)

// This file combines the stretches of a unit's keys, in the order of the keys.

// add adds the rows of another stretch, which it overwrites, to the unit's output, after scaling
// both to a common maximum.
func (u *unit) add(o []float32, ldo int, max, sum []float32) {
	isa, all, old, dim := u.c.isa, &u.w.all, u.w.factor, u.c.P.ValueDim
	for r := range u.rows {
		f := order.MergeFactors(&all.max[r], max[r])
		all.sum[r] = float32(all.sum[r]*f.Old) + float32(sum[r]*f.New)
		old[r], all.factor[r] = f.Old, f.New
	}
	scaleRows(isa, u.o, u.rows, dim, u.ldo, old[:u.rows])
	scaleRows(isa, o, u.rows, dim, ldo, all.factor[:u.rows])
	addRows(isa, u.o, o, u.rows, dim, u.ldo, ldo)
}

// end finishes the output after all stretches have been added.
func (u *unit) end() {
	copy(u.w.max, u.w.all.max[:u.rows])
	copy(u.w.sum, u.w.all.sum[:u.rows])
	u.finish(0, u.rows)
	u.emptyRows()
}
