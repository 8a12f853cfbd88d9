package row

import (
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// Dot products of vectors of 1 and -1, panel by panel.

// Signs is a call of kernels.SignDots.
type Signs struct {
	M, N, Dim, Words int
	A                []int32
	LdA              int
	B                []int32
	C                []float32
	LdC              int

	isa             simd.ISA
	panels, perPart int // of all, and of a part
	rows, perCall   int // vectors of A and panels of B that one call of the assembly takes
}

var signs = sync.Pool{New: func() any { return new(Signs) }}

// SignDots computes s on up to t threads.
func SignDots(t int, s Signs) {
	s.isa, s.panels = simd.Active(), s.N/simd.SignPanel
	budget := max(2*int(BudgetOf(simd.KernelSignDots, s.isa))/(s.Words*simd.SignPanel), 1) // vectors and panels in a call
	s.rows = min(s.M, budget)
	s.perCall = max(budget/s.rows, 1)
	// A word takes a fraction of what an element does.
	s.perPart = max(4*tune.Used.Rows.PartElements/(s.M*s.Words*simd.SignPanel), 1)
	if t <= 1 || s.panels < 2*s.perPart {
		s.do(0, s.panels)
		return
	}
	p := signs.Get().(*Signs)
	*p = s
	par.Run(t, (p.panels+p.perPart-1)/p.perPart, p)
	*p = Signs{}
	signs.Put(p)
}

// Do implements par.Task.
func (s *Signs) Do(from, to int) { s.do(from*s.perPart, min(to*s.perPart, s.panels)) }

// do computes the products with panels [from, to).
func (s *Signs) do(from, to int) {
	for ; from < to; from += s.perCall {
		n := min(s.perCall, to-from)
		for i := 0; i < s.M; i += s.rows {
			simd.SignDots(s.isa, s.C[i*s.LdC+from*simd.SignPanel:], s.LdC, s.A[i:], s.LdA, s.B[from*s.Words*simd.SignPanel:],
				min(s.rows, s.M-i), n*simd.SignPanel, s.Words, float32(s.Dim))
		}
	}
}
