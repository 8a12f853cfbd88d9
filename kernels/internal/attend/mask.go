package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// The mask of a tile of scores: what a query does not see, and biases.

// mask applies the mask to a tile of scores.
func (u *unit) mask(s []float32, lds, ra, rb, j, n int) {
	p, w := &u.c.P, u.w
	for i := range p.Mask {
		switch t := &p.Mask[i]; t.Kind {
		case MaskBias:
			u.addBias(t, s, lds, ra, rb, j, n)
		case MaskALiBi:
			u.addALiBi(t, s, lds, ra, rb, j, n)
		case MaskKeep, MaskBlock:
			for r := ra; r < rb; r++ {
				t.hide(s[(r-ra)*lds:][:n], u.seq, u.headOf(r), u.queryOf(r), j)
			}
		}
	}
	if u.alike && w.lo[0] <= j && j+n <= w.hi[0] {
		return
	}
	for r := ra; r < rb; r++ {
		row := s[(r-ra)*lds:][:n]
		mem.Fill(row[:min(max(w.lo[r]-j, 0), n)], mem.NegInf)
		mem.Fill(row[min(max(w.hi[r]-j, 0), n):], mem.NegInf)
	}
}

// addBias adds a bias term.
func (u *unit) addBias(t *Term, s []float32, lds, ra, rb, j, n int) {
	for r := ra; r < rb; r++ {
		at, step := t.row(u.seq, u.headOf(r), u.queryOf(r))
		row := s[(r-ra)*lds:][:n]
		if step == 1 {
			simd.AddVec(u.c.isa, row, row, t.Bias[at+j:][:n])
			continue
		}
		bias := t.Bias[at]
		for i := range row {
			row[i] += bias
		}
	}
}

// addALiBi adds the linear bias. The rows of a tile are windows into one ramp,
// each one element further to the left.
func (u *unit) addALiBi(t *Term, s []float32, lds, ra, rb, j, n int) {
	w := u.w
	w.ramp = mem.Grow(w.ramp, u.rows+n)
	last := -1
	for r := ra; r < rb; r++ {
		shift := u.queryOf(rb-1) - u.queryOf(r)
		if h := u.headOf(r); h != last {
			last = h
			far := u.queryOf(rb-1) + u.c.P.Past - j
			for i := range n + shift {
				d := far - i
				w.ramp[i] = -t.Bias[h] * float32(max(d, -d))
			}
		}
		row := s[(r-ra)*lds:][:n]
		simd.AddVec(u.c.isa, row, row, w.ramp[shift:][:n])
	}
}
