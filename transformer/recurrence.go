package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// A Recurrence passes a state of fixed size from row to row of each sequence, in layers without
// keys and values. The state of a new sequence is all zeros. A cache keeps the state after the last
// row of each sequence.
type Recurrence struct {
	Size  int // elements of a state
	Width int // elements of an input row
	// Step sets to, [Size], to the state after inputs, [n, Width], that follow the state from,
	// which may be to. first is the index in the batch of the first of these rows. It is negative
	// if the rows have passed before, and only their state is wanted. A step must do the same for
	// each row for any n.
	Step func(to, from, inputs []float32, first int) error
}

// Forward passes the rows of batch, [rows, Width]. cache is nil or the layer's part of a cache.
func (r Recurrence) Forward(ws *Workspace, inputs []float32, batch Batch, cache *LayerCache) error {
	if err := check.Positive("recurrence", check.Size("size", r.Size), check.Size("width", r.Width)); err != nil {
		return err
	}
	if r.Step == nil {
		return check.Errorf(fault.ErrConfig, "recurrence without a step")
	}
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

// layerState has the state and inputs of one sequence that a recurrent layer needs in a pass.
type layerState struct {
	from  []float32 // the state before the rows; nil: zeros
	again []float32 // inputs between from and the rows, which must pass again
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

// state returns the layer's state of sequence i for a pass of n rows.
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

// A rowTask computes each row separately. It is a task of kernels.Threads.Run whose parts are rows.
type rowTask func(row int)

// Do does it for the rows [from, to).
func (do rowTask) Do(from, to int) {
	for i := from; i < to; i++ {
		do(i)
	}
}
