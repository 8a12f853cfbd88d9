package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file applies the mask to a tile of scores: hidden keys, and biases.

// mask applies the mask to a tile of scores: first the biases and then the terms that hide keys, so
// that a bias never makes a hidden key visible.
func (u *unit) mask(s []float32, lds, ra, rb, j, n int) {
	p, w := &u.c.P, u.w
	for i := range p.Mask {
		switch t := &p.Mask[i]; t.Kind {
		case mask.Bias:
			head, query := u.headOf(ra), u.queryOf(ra) // of row ra; a division for each row would take as long as its biases
			for r := range rb - ra {
				t.AddBias(u.c.isa, s[r*lds:][:n], u.seq, head, query, j, true)
				if head++; head == u.head+u.g.fold {
					head, query = u.head, query+1
				}
			}
		case mask.ALiBi:
			u.addALiBi(t, s, lds, ra, rb, j, n)
		}
	}
	several := u.c.biases() > 1 // a single bias has hidden its keys
	for i := range p.Mask {
		if t := &p.Mask[i]; t.Kind == mask.Keep || t.Kind == mask.Blocked || several && t.Kind == mask.Bias {
			for r := ra; r < rb; r++ {
				t.Hide(s[(r-ra)*lds:][:n], mem.NegInf, u.seq, u.headOf(r), u.queryOf(r), j)
			}
		}
	}
	if u.alike && w.lo[0] <= j && j+n <= w.hi[0] {
		return
	}
	for r := ra; r < rb; r++ {
		u.hideBeyond(s[(r-ra)*lds:][:n], mem.NegInf, r, j)
	}
}

// hideBeyond sets the scores of row r to v for the keys j, j+1, … that are outside its interval.
func (u *unit) hideBeyond(s []float32, v float32, r, j int) {
	lo, hi := u.w.lo[r], u.w.hi[r]
	mem.Fill(s[:min(max(lo-j, 0), len(s))], v)
	mem.Fill(s[min(max(hi-j, 0), len(s)):], v)
}

// clearHidden sets the weights of row r to 0 for the keys j, j+1, … that it does not see.
func (u *unit) clearHidden(s []float32, r, j int) {
	u.hideBeyond(s, 0, r, j)
	for i := range u.c.P.Mask {
		switch t := &u.c.P.Mask[i]; t.Kind {
		case mask.Keep, mask.Blocked, mask.Bias:
			t.Hide(s, 0, u.seq, u.headOf(r), u.queryOf(r), j)
		}
	}
}

// addALiBi adds the linear bias. The rows of a tile are windows into one ramp, each one element
// further to the left.
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
		simd.BiasVec(u.c.isa, row, row, w.ramp[shift:][:n])
	}
}
