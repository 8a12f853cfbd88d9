package checkpoint

import (
	"slices"
	"sync/atomic"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// This file handles a table and a projection to the vocabulary that the configuration ties to it.

// Tie reports whether the tensor w, which the configuration ties to the table t, is another one all
// the same: the two are one matrix unless the checkpoint has w with other elements, or adapters
// change one of them. ok is false if there can be none. The result is w as it is to be read: where
// the checkpoint has no w, from the table.
func (p *Plan) Tie(t *Table, w Want) (read Want, apart, ok bool) {
	p.alone(w.Tensor)
	v := p.vectors(t)
	if v == nil {
		p.Fail(check.Errorf(fault.ErrConfig, "%s: tied to an embedding of another checkpoint", w.module()))
		return w, false, false
	}
	own := p.names.listed[w.Tensor]
	if got, known := p.source.source(w).Shape(w.Tensor); own && known && !slices.Equal(got, w.Shape) {
		p.open(w) // which notes why
		return w, false, false
	}
	if own && p.replacesTied(v, w) {
		p.Fail(check.Errorf(fault.ErrConfig, "%s: a tensor in its place, which is its table's as well: not supported", w.module()))
		return w, false, false
	}
	if own && v.absent { // the table is that of the projection
		v.want.tied, v.want.original, v.absent = w.Tensor, p.source.replaced[w.Tensor].Apart, false
		p.openTable(v)
	}
	apart = !v.absent && p.apart(v, w, own)
	if p.used[w.Tensor] = true; !own {
		w.tied, w.original = v.want.read(), true
	}
	return w, apart, true
}

// vectors returns the want of a table, nil if the plan does not have it.
func (p *Plan) vectors(t *Table) *vectors {
	at := slices.IndexFunc(p.tables, func(v *vectors) bool { return v.Table == t })
	if at < 0 {
		return nil
	}
	return p.tables[at]
}

// apart reports whether the weight w of a projection is another one than that of the table that it
// is tied to.
func (p *Plan) apart(v *vectors, w Want, own bool) bool {
	table := v.want.Tensor
	switch {
	case p.source.changed(w.Tensor),
		slices.ContainsFunc(p.source.terms(table), func(d LowRank) bool { return !d.Tied }),
		slices.ContainsFunc(p.source.rows[table], func(r Rows) bool { return !r.Tied }):
		return true
	case !own:
		return p.source.replaced[table].Apart
	}
	return v.want.tied == "" && !p.same(v, w)
}

// replacesTied reports whether another tensor than the table's takes the place of w, and is not a
// copy: it would be the table's.
func (p *Plan) replacesTied(v *vectors, w Want) bool {
	head, ok := p.source.replaced[w.Tensor]
	if !ok || head.Apart || v.absent || p.source.changed(w.Tensor) || v.changed {
		return false
	}
	return !p.source.replaced[v.want.Tensor].Apart && !p.same(v, w)
}

// same reports whether the tensor w is that of a table. It is the one place where a plan depends on
// what tensors have.
func (p *Plan) same(v *vectors, w Want) bool {
	t := p.open(w)
	if t == nil || v.tensor == nil {
		return true // which is noted
	}
	var differ atomic.Bool
	runJobs(v.pieces(func(buf *jobBuffers, from, to int) {
		for from *= v.dim; from < to*v.dim && !differ.Load(); {
			n := min(16*v.dim, to*v.dim-from)
			both := buf.floats(2 * n)
			a, b := both[:n], both[n:2*n]
			p.read(w, t, a, from)
			p.read(v.want, v.tensor, b, from)
			if !slices.Equal(a, b) {
				differ.Store(true)
			}
			from += n
		}
	}))
	return !differ.Load()
}

// Share returns the matrix of a table, which a projection shares.
func (p *Plan) Share(t *Table) *Matrix {
	p.vectors(t).tied = true
	return &t.packed
}

// HasRows reports whether rows take the place of those of a table and of what is tied to it.
func (p *Plan) HasRows(t *Table) bool {
	v := p.vectors(t)
	return v != nil && slices.ContainsFunc(p.source.rows[v.want.Tensor], func(r Rows) bool { return r.Tied })
}

// HasTerms reports whether adapters add to a tensor of the checkpoint.
func (p *Plan) HasTerms(tensor string) bool { return len(p.source.added[tensor]) > 0 }
