package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file applies the mask to a tile of scores: hidden keys, and biases.

// mask applies the mask to a tile of scores.
func (u *unit) mask(s []float32, lds, ra, rb, j, n int) {
	p, w := &u.c.P, u.w
	for i := range p.Mask {
		switch t := &p.Mask[i]; t.Kind {
		case mask.Bias:
			for r := ra; r < rb; r++ {
				t.AddBias(u.c.isa, s[(r-ra)*lds:][:n], u.seq, u.headOf(r), u.queryOf(r), j)
			}
		case mask.ALiBi:
			u.addALiBi(t, s, lds, ra, rb, j, n)
		case mask.Keep, mask.Blocked:
			for r := ra; r < rb; r++ {
				t.Hide(s[(r-ra)*lds:][:n], mem.NegInf, u.seq, u.headOf(r), u.queryOf(r), j)
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

// addALiBi adds the linear bias. The rows of a tile are windows into one ramp,
// each one element further to the left.
func (u *unit) addALiBi(t *mask.Term, s []float32, lds, ra, rb, j, n int) {
	w := u.w
	w.ramp = mem.Grow(w.ramp, u.rows+n)
	last := -1
	for r := ra; r < rb; r++ {
		shift := u.queryOf(rb-1) - u.queryOf(r)
		if h := u.headOf(r); h != last {
			last = h
			far := u.queryOf(rb-1) + u.g.past - j
			for i := range n + shift {
				d := far - i
				w.ramp[i] = -t.Bias[h] * float32(max(d, -d))
			}
		}
		row := s[(r-ra)*lds:][:n]
		simd.AddVec(u.c.isa, row, row, w.ramp[shift:][:n])
	}
}
