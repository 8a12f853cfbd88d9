package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/product"
)

// This file has products in which each run of rows has its own B, as in a mixture of experts.

// GemmGroupedParams are the arguments of GemmGrouped. Sizes are in elements.
type GemmGroupedParams struct {
	A   []float32 // rows of K elements, LdA apart
	LdA int
	// B has a matrix for each group, all K x N. The matrix of a group without rows may be nil.
	B []*PackedB
	// Ends has the end of each group's rows in A and C, in ascending order: group g has the rows
	// [Ends[g-1], Ends[g]), and group 0 begins with row 0.
	Ends []int
	C    []float32 // rows of N elements, LdC apart; must not overlap A
	LdC  int
	Bias [][]float32 // [N] for each group, added to each of its rows; or nil
}

// GemmGrouped computes C_g = A_g*B_g + Bias_g for the rows of every group. The groups follow one
// another in A and C. It is meant for a mixture of experts: the rows of an expert are one product,
// and the products are divided among threads. Each row has the same bits as in a GemmPacked of its
// group.
func GemmGrouped(p GemmGroupedParams) { Threads(1).GemmGrouped(p) }

// GemmGrouped is the function GemmGrouped on up to t threads.
func (t Threads) GemmGrouped(p GemmGroupedParams) {
	p.check()
	g := product.NewGroup()
	from := 0
	for i, to := range p.Ends {
		if m := to - from; m > 0 {
			var bias []float32
			if p.Bias != nil {
				bias = p.Bias[i]
			}
			b := &p.B[i].matrix
			var a, c []float32
			if b.K > 0 {
				a = p.A[from*p.LdA:]
			}
			if b.N > 0 {
				c = p.C[from*p.LdC:]
			}
			g.Add(m, a, p.LdA, b, c, p.LdC, bias)
		}
		from = to
	}
	g.Run(int(t))
}

func (p *GemmGroupedParams) check() {
	const fn = "GemmGrouped"
	if len(p.Ends) != len(p.B) {
		mem.PanicSize(fn, "len(Ends)", len(p.Ends), fmt.Sprintf("want %d, as many as B", len(p.B)))
	}
	if p.Bias != nil && len(p.Bias) != len(p.B) {
		mem.PanicSize(fn, "len(Bias)", len(p.Bias), fmt.Sprintf("want %d, as many as B", len(p.B)))
	}
	var first *PackedB
	from := 0
	for i, to := range p.Ends {
		if to < from {
			mem.PanicSize(fn, fmt.Sprintf("Ends[%d]", i), to, fmt.Sprintf("want at least %d", from))
		}
		if to == from {
			continue
		}
		b := p.B[i]
		if b == nil {
			panic(fmt.Sprintf("kernels.%s: B[%d] is nil, want a matrix from PackB", fn, i))
		}
		if first == nil {
			first = b
		}
		if b.K() != first.K() || b.N() != first.N() {
			panic(fmt.Sprintf("kernels.%s: B[%d] is %dx%d, want %dx%d as the others", fn, i, b.K(), b.N(), first.K(), first.N()))
		}
		if p.Bias != nil {
			mem.CheckLen(fn, "Bias of a group", len(p.Bias[i]), b.N(), "N")
		}
		from = to
	}
	if first != nil {
		mem.CheckMatrix(fn, "A", len(p.A), from, first.K(), p.LdA)
		mem.CheckMatrix(fn, "C", len(p.C), from, first.N(), p.LdC)
	}
}
