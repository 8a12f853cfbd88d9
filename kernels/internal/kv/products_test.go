package kv

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// TestProducts multiplies queries by keys, and weights by values, where these are stored. Each sum
// is one chain over the stored numbers.
func TestProducts(t *testing.T) {
	testenv.EachTier(t, simd.Supported(), simd.Active(), simd.Use, func(t *testing.T) {
		const heads, dim, page = 2, 48, 9
		_, nr := simd.GemmTile(simd.Active())
		rows := 4 * nr
		r := rand.New(rand.NewPCG(3, 4))
		some := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			return x
		}
		for _, f := range formats[1:] {
			keys, values := NewKeys(f, heads, rows, dim), NewPages(f, heads, rows, dim)
			var k, v [][]float32 // of the second head
			for _, p := range []*Pages{keys, values} {
				p.Grow(page + 1)
				for i := range rows {
					p.Set(page, i, some(heads*dim))
				}
			}
			for i := range rows {
				k, v = append(k, row(keys, page, 1, i)), append(v, row(values, page, 1, i))
			}
			if keys.Panel != nr || !values.AddsValues() {
				t.Fatalf("%v: panels of %d keys, want %d, and values are added: %v", f, keys.Panel, nr, values.AddsValues())
			}
			for m := 1; m <= 7; m++ {
				const alpha, gap = 0.75, 3
				q, ldq, lds := some(m*(dim+gap)), dim+gap, rows+gap
				for first := 0; first < rows; first += nr {
					n := rows - first
					got := some(m * lds)
					want := slices.Clone(got)
					keys.Scores(simd.Active(), page, 1, first, n/nr, m, alpha, q, ldq, got, lds, keys.Address(page, 0, 0))
					for i := range m {
						for j := range n {
							sum := float32(0)
							for p, x := range k[first+j] {
								sum = order.FMA(q[i*ldq+p], x, sum)
							}
							want[i*lds+j] = alpha * sum
						}
					}
					if !slices.Equal(got, want) {
						t.Fatalf("%v: %d queries, keys from %d on: other scores than those of the chains", f, m, first)
					}
				}
				for _, first := range []int{0, 1, rows - 1} {
					n, o := rows-first, some(m*(dim+gap))
					w, want := some(m*lds), slices.Clone(o)
					values.AddValues(simd.Active(), o, dim+gap, w, lds, m, page, 1, first, n, 0)
					for i := range m {
						for j := range n {
							for c, x := range v[first+j] {
								want[i*(dim+gap)+c] = order.FMA(w[i*lds+j], x, want[i*(dim+gap)+c])
							}
						}
					}
					if !slices.Equal(o, want) {
						t.Fatalf("%v: %d queries, values from %d on: other sums than those of the chains", f, m, first)
					}
				}
			}
		}
		for _, p := range []*Pages{NewPages(weights.F16, 1, rows, dim+1), NewPages(weights.F32, 1, rows, dim), NewKeys(weights.F16, 1, rows, dim)} {
			if p.AddsValues() {
				t.Errorf("values of %v, %d wide, in panels of %d, are added", p.Format, p.Dim, p.Panel)
			}
		}
	})
}
