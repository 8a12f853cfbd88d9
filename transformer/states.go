package transformer

// This file has the states of recurrent layers, which histories hold, and the pool that they come
// from.

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// states has the states of all recurrent layers after some rows of a sequence. It does not change
// after the pass that made it: histories can share it.
type states struct {
	layers [][]float32 // by layer of the stack; nil: the layer has no state
	refs   int
}

// rewind allows the rows of the last pass to be taken back: it has the states before that pass, and
// the inputs of its rows.
type rewind struct {
	from   *states // nil: zeros
	row    int     // the rows before the pass
	inputs [][]float32
	bytes  int64
	refs   int
}

// recurrent is a history's part for recurrent layers.
type recurrent struct {
	now  *states // after all rows; nil: there are none, or those after last.row must pass again
	last *rewind // of the last pass; nil: its rows cannot be taken back
	// Of the pass that runs:
	next, mid *states
	keeps     *rewind // what last becomes; nil: nothing
}

// statePool has the states of the histories of a pool.
type statePool struct {
	sizes []int // elements, by layer of the stack; 0: the layer has no state
	bytes int64 // of the states of all layers
	held  int   // in use
	kept  int64 // bytes of inputs that rows can be taken back by
	free  []*states
}

func (p *statePool) used() int64 { return int64(p.held)*p.bytes + p.kept }

// takeStates returns states with arbitrary contents. The caller holds the lock.
func (p *Pages) takeStates() (*states, error) {
	if need := p.used() + p.states.bytes; p.Limit > 0 && need > p.Limit {
		return nil, check.Errorf(fault.ErrMemory, "histories need %d bytes, the limit is %d", need, p.Limit)
	}
	p.states.held++
	p.peak = max(p.peak, p.used())
	if n := len(p.states.free); n > 0 {
		s := p.states.free[n-1]
		p.states.free = p.states.free[:n-1]
		s.refs = 1
		return s, nil
	}
	return &states{layers: make([][]float32, len(p.layer)), refs: 1}, nil
}

// giveStates removes one reference to s, which may be nil. The caller holds the lock.
func (p *Pages) giveStates(s *states) {
	if s == nil {
		return
	}
	if s.refs--; s.refs == 0 {
		p.states.held--
		p.states.free = append(p.states.free, s)
	}
}

func (s *states) share() *states {
	if s != nil {
		s.refs++
	}
	return s
}

// giveRewind removes one reference to r, which may be nil. The caller holds the lock.
func (p *Pages) giveRewind(r *rewind) {
	if r == nil {
		return
	}
	if r.refs--; r.refs == 0 {
		p.giveStates(r.from)
		p.states.kept -= r.bytes
	}
}

// holds reports whether the history has, or can compute, the states after its first rows.
func (r *recurrent) holds(p *Pages, rows, length int) bool {
	return p.states.bytes == 0 || rows == length || rows == 0 || r.last != nil && r.last.row <= rows
}

// again returns the number of rows that must pass again before the next row of a history of the
// given length.
func (r *recurrent) again(length int) int {
	if r.now != nil || r.last == nil {
		return 0
	}
	return length - r.last.row
}

// fork returns r after the first rows, which it holds. The caller holds the lock.
func (r *recurrent) fork(rows, length int) recurrent {
	if rows == 0 {
		return recurrent{}
	}
	f := recurrent{last: r.last}
	if f.last != nil {
		f.last.refs++
	}
	switch {
	case rows == length:
		f.now = r.now.share()
	case f.last != nil && f.last.row == rows:
		f.now = f.last.from.share()
	}
	return f
}

// forget gives back everything. The caller holds the lock.
func (r *recurrent) forget(p *Pages) {
	r.trim(p)
	p.giveStates(r.now)
	p.giveRewind(r.last)
	r.now, r.last = nil, nil
}

// trim gives back the states that a failed pass has taken. The caller holds the lock.
func (r *recurrent) trim(p *Pages) {
	p.giveStates(r.next)
	p.giveStates(r.mid)
	p.giveRewind(r.keeps)
	r.next, r.mid, r.keeps = nil, nil, nil
}

// prepare takes the states that a pass after the first rows computes. kept is set if its rows can
// be taken back. The caller holds the lock.
func (r *recurrent) prepare(p *Pages, length int, kept bool) (err error) {
	if r.next, err = p.takeStates(); err != nil {
		return err
	}
	if !kept {
		return nil
	}
	before := r.now
	if r.again(length) > 0 {
		if r.mid, err = p.takeStates(); err != nil {
			return err
		}
		before = r.mid
	}
	r.keeps = &rewind{from: before.share(), row: length, inputs: make([][]float32, len(p.layer)), refs: 1}
	return nil
}

// end makes the states of the pass those of the history. The caller holds the lock.
func (r *recurrent) end(p *Pages) {
	if r.next == nil {
		return
	}
	p.giveStates(r.now)
	p.giveStates(r.mid)
	p.giveRewind(r.last)
	r.now, r.last = r.next, r.keeps
	r.next, r.mid, r.keeps = nil, nil, nil
}
