package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/product"
)

// Products of which each run of rows has a B of its own: those of a mixture of experts.

// GemmGroupedParams are the arguments of GemmGrouped. Sizes are in elements.
type GemmGroupedParams struct {
	A   []float32 // rows of K elements, LdA apart
	LdA int
	// B has a matrix for each group, all K x N; that of a group without rows may be nil.
	B []*PackedB
	// Ends is where the rows of each group end in A and C, as many as B and in ascending order: those
	// of group g are [Ends[g-1], Ends[g]), those of the first begin at 0.
	Ends []int
	C    []float32 // rows of N elements, LdC apart; overlaps nothing else
	LdC  int
	Bias [][]float32 // [N] for each group, added to its rows; or nil
}

// GemmGrouped computes C_g = A_g*B_g + Bias_g for the rows of every group, which lie one after another in A and
// C: the form for a mixture of experts, all rows of an expert in one product and the products side by
// side on the threads. Each row has the bits that GemmPacked gives it with the rows of its group.
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
