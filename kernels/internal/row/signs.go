package row

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has dot products of vectors of 1 and -1.

// Signs holds the arguments of kernels.SignDots.
type Signs struct {
	M, N, Dim, Words int
	A                []int32
	LdA              int
	B                []int32
	C                []float32
	LdC              int

	isa           simd.ISA
	rows, perCall int // vectors of A and panels of B in one call of the assembly
}

var signs tasks[Signs]

// SignDots computes s on up to t threads.
func SignDots(t int, s Signs) {
	s.isa = simd.Active()
	panels, words := s.N/simd.SignPanel, s.Words*simd.SignPanel         // words of a panel
	budget := max(2*int(BudgetOf(simd.KernelSignDots, s.isa))/words, 1) // pairs of a vector and a panel
	s.rows = min(s.M, budget)
	s.perCall = max(budget/s.rows, 1)
	elements := max(s.M*words/4, 1) // elements of a panel: a word takes the time of a quarter of an element
	if alone(t, panels, panels*elements) {
		signDots(&s, 0, panels)
		return
	}
	signs.split(t, panels, elements, &s, signDots)
}

// signDots computes the products with the panels [from, to).
func signDots(s *Signs, from, to int) {
	for ; from < to; from += s.perCall {
		n := min(s.perCall, to-from)
		for i := 0; i < s.M; i += s.rows {
			simd.SignDots(s.isa, s.C[i*s.LdC+from*simd.SignPanel:], s.LdC, s.A[i:], s.LdA, s.B[from*s.Words*simd.SignPanel:],
				min(s.rows, s.M-i), n*simd.SignPanel, s.Words, float32(s.Dim))
		}
	}
}
