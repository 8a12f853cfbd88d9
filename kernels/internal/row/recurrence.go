package row

import "github.com/avoformer/avoformer/kernels/internal/simd"

// This file has recurrent layers, whose state passes from row to row.

// State holds the arguments of kernels.Recurrence.
type State struct {
	Rows             int
	Heads, KeyHeads  int
	KeyDim, ValueDim int
	Alternate        bool
	Delta            bool
	From, To         []float32
	Q                []float32
	LdQ              int
	K                []float32
	LdK              int
	V                []float32
	LdV              int
	Decay, Beta      []float32
	Dst              []float32
	LdDst            int
}

var states tasks[State]

// Recurrence computes s on up to t threads. Each thread computes heads of its own.
func Recurrence(t int, s State) {
	elements := max(1, s.Rows) * max(1, s.KeyDim) * s.ValueDim // of a head
	if alone(t, s.Heads, s.Heads*elements) {
		recurrence(&s, 0, s.Heads)
		return
	}
	states.split(t, s.Heads, elements, &s, recurrence)
}

// stateColumns returns the number of columns of a state that pass through all rows before the next
// columns do, so that they stay in the first-level cache. 64 columns are four vectors of AVX-512,
// and 32 are four of AVX2.
func stateColumns(isa simd.ISA) int {
	if isa == simd.AVX512 {
		return 64
	}
	return 32
}

// recurrence computes the heads [from, to).
func recurrence(s *State, from, to int) {
	isa, run, kernel := simd.Active(), simd.ScanRows, simd.KernelScanRows
	if s.Delta {
		run, kernel = simd.DeltaRows, simd.KernelDeltaRows
	}
	size, columns := s.KeyDim*s.ValueDim, stateColumns(isa)
	if budget := int(BudgetOf(kernel, isa)); s.KeyDim > budget/columns {
		columns = max(1, budget/max(1, s.KeyDim))
	}
	for h := from; h < to; h++ {
		state := s.To[h*size:][:size]
		if before := s.From[h*size:][:size]; size > 0 && &before[0] != &state[0] {
			copy(state, before)
		}
		key := h / (s.Heads / s.KeyHeads)
		if s.Alternate {
			key = h % s.KeyHeads
		}
		for c := 0; c < s.ValueDim; c += columns {
			n, part := min(columns, s.ValueDim-c), state[min(c, size):]
			for r := range s.Rows {
				gate, at := r*s.Heads+h, h*s.ValueDim+c
				run(isa, s.Dst[r*s.LdDst+at:][:n], part, s.ValueDim, s.Q[r*s.LdQ+key*s.KeyDim:][:s.KeyDim], s.K[r*s.LdK+key*s.KeyDim:][:s.KeyDim],
					s.V[r*s.LdV+at:][:n], s.Decay[gate], s.Beta[gate])
			}
		}
	}
}
