package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// A Recurrence carries a state of fixed size from row to row of each sequence, as layers do that have no keys and values. The
// state of a new sequence is all zeros. A cache keeps the state after the last row of each sequence.
type Recurrence struct {
	Size  int // elements of a state
	Width int // elements of an input row
	// Step sets to, [Size], to the state after inputs, [n, Width], that follow the state from, which may be to. first is the
	// number in the batch of the first of these rows; it is negative where the rows have passed before, and only their
	// state is wanted. A step must do the same for each row whatever n is.
	Step func(to, from, inputs []float32, first int) error
}

// Forward passes the rows of batch, [rows, Width]. cache is nil or the layer's part of a cache.
func (r Recurrence) Forward(ws *Workspace, inputs []float32, batch Batch, cache *LayerCache) error {
	if err := check.Len("recurrence: inputs", inputs, batch.Rows()*r.Width, "rows*width"); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	var scratch []float32
	for i := range batch.Len() {
		first, end := batch.Start(i), batch.Start(i+1)
		if first == end {
			continue
		}
		s := layerState{to: scratch}
		switch {
		case cache != nil:
			var err error
			if s, err = cache.state(i, r, end-first); err != nil {
				return err
			}
		case scratch == nil:
			scratch = ws.Alloc(r.Size)
			s.to = scratch
		}
		if err := r.pass(s, inputs[first*r.Width:end*r.Width], first); err != nil {
			return err
		}
	}
	return nil
}

// layerState is what a recurrent layer needs of a sequence in a pass.
type layerState struct {
	from  []float32 // the state before the rows; nil: zeros
	again []float32 // inputs between from and the rows, which have to pass again
	mid   []float32 // to be set to the state after again; nil: not wanted
	to    []float32 // to be set to the state after the rows
	kept  []float32 // to be set to the inputs of the rows; nil: not wanted
}

func (r Recurrence) pass(s layerState, rows []float32, first int) error {
	from := s.from
	if from == nil {
		clear(s.to)
		from = s.to
	}
	if len(s.again) > 0 {
		if err := r.Step(s.to, from, s.again, -1); err != nil {
			return err
		}
		from = s.to
		copy(s.mid, s.to)
	}
	copy(s.kept, rows)
	return r.Step(s.to, from, rows, first)
}

// states is the states of all recurrent layers after some rows of a sequence. It does not change after the pass that made it,
// so that histories share it.
type states struct {
	layers [][]float32 // by layer of the stack; nil: the layer has no state
	refs   int
}

// rewind is what the rows of the last pass can be taken back to: the states before that pass, and the inputs of its rows.
type rewind struct {
	from   *states // nil: zeros
	row    int     // the rows before the pass
	inputs [][]float32
	bytes  int64
	refs   int
}

// recurrent is what a history has of recurrent layers.
type recurrent struct {
	now  *states // after all rows; nil: there are none, or those after last.row have to pass again
	last *rewind // of the last pass; nil: its rows cannot be taken back
	// Of the pass that runs:
	next, mid *states
	keeps     *rewind // what last becomes; nil: nothing
}

// statePool is the states of the histories of a pool.
type statePool struct {
	sizes []int // elements, by layer of the stack; 0: the layer has no state
	bytes int64 // of the states of all layers
	held  int   // in use
	kept  int64 // bytes of inputs that rows can be taken back by
	free  []*states
}

func (p *statePool) used() int64 { return int64(p.held)*p.bytes + p.kept }

// takeStates is states of any value. The lock is held.
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

// giveStates takes one reference from s, which may be nil. The lock is held.
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

// giveRewind takes one reference from r, which may be nil. The lock is held.
func (p *Pages) giveRewind(r *rewind) {
	if r == nil {
		return
	}
	if r.refs--; r.refs == 0 {
		p.giveStates(r.from)
		p.states.kept -= r.bytes
	}
}

// holds reports whether the history has the states after the first rows of it, or can compute them.
func (r *recurrent) holds(p *Pages, rows, length int) bool {
	return p.states.bytes == 0 || rows == length || rows == 0 || r.last != nil && r.last.row <= rows
}

// again is the number of rows that have to pass again before the next one of a history of a length.
func (r *recurrent) again(length int) int {
	if r.now != nil || r.last == nil {
		return 0
	}
	return length - r.last.row
}

// fork is r after the first rows, which it holds. The lock is held.
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

// forget gives back everything. The lock is held.
func (r *recurrent) forget(p *Pages) {
	r.trim(p)
	p.giveStates(r.now)
	p.giveRewind(r.last)
	r.now, r.last = nil, nil
}

// trim gives back what a pass that failed has taken. The lock is held.
func (r *recurrent) trim(p *Pages) {
	p.giveStates(r.next)
	p.giveStates(r.mid)
	p.giveRewind(r.keeps)
	r.next, r.mid, r.keeps = nil, nil, nil
}

// prepare takes the states that a pass after the first rows computes. kept says whether its rows can be taken back. The lock is
// held.
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

// end makes the states of the pass those of the history. The lock is held.
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

// state is what the layer has of sequence i for a pass of n rows.
func (l *LayerCache) state(i int, of Recurrence, n int) (s layerState, err error) {
	p, h := l.cache.pages, l.cache.histories[i]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.states.sizes == nil {
		p.states.sizes = make([]int, len(p.layer))
	}
	size := &p.states.sizes[l.layer]
	if *size == 0 {
		*size = of.Size
		p.states.bytes += 4 * int64(of.Size)
	}
	if *size != of.Size {
		return s, check.Errorf(fault.ErrShape, "states of %d elements in a layer that had %d", of.Size, *size)
	}
	r := &h.recurrent
	if r.next == nil { // the first pass of the pool
		if err := r.prepare(p, h.length, l.apart(i)); err != nil {
			return s, err
		}
	}
	if r.now == nil && r.last == nil && h.length > 0 {
		return s, check.Errorf(fault.ErrShape, "a recurrent layer without the state after %d rows", h.length)
	}
	get := func(s *states) []float32 {
		if s == nil {
			return nil
		}
		if s.layers[l.layer] == nil {
			s.layers[l.layer] = make([]float32, of.Size)
		}
		return s.layers[l.layer]
	}
	s = layerState{from: get(r.now), mid: get(r.mid), to: get(r.next)}
	if again := r.again(h.length); again > 0 {
		s.from, s.again = get(r.last.from), r.last.inputs[l.layer][:again*of.Width]
	}
	if k := r.keeps; k != nil {
		s.kept = make([]float32, n*of.Width)
		k.inputs[l.layer] = s.kept
		k.bytes += 4 * int64(len(s.kept))
		p.states.kept += 4 * int64(len(s.kept))
	}
	return s, nil
}
