package kernels

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// TestTuningChangesNoResult computes the same products with very different figures.
func TestTuningChangesNoResult(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	small, large, crowded := kept, kept, kept
	small.Ways, large.Ways = 1, 1<<20
	small.Gemm = tune.Gemm{MC: 20, NC: 32, PackRows: 1, InPlaceTiles: 20, InPlacePanel: 1 << 20, InPlaceSpan: 1 << 30, NearElements: 1 << 30,
		LinesTiles: 20, LinesSets: 64, LinesWays: 1 << 20, Spread: 1, WideNum: 1, WideDen: 1, StreamNum: 20, StreamDen: 1, RowColumns: 24, RowAhead: 16, CopyColumns: 1}
	large.Gemm = tune.Gemm{MC: 1 << 20, NC: 1 << 20, PackRows: 1 << 20, WideDen: 1, StreamDen: 1, RowColumns: 1 << 20, CopyColumns: 1 << 20}
	crowded.Gemm.LinesSets, crowded.Gemm.LinesWays = 64, 0 // every B of whole lines crowds the second-level cache
	r := rand.New(rand.NewPCG(8, 8))
	limit := 1 << 22
	if testenv.Slow() {
		limit = 1 << 21
	}
	eachISA(t, func(t *testing.T) {
		for _, s := range gemmShapes {
			m, n, k := s[0], s[1], s[2]
			if m*n*k > limit {
				continue
			}
			a, b := randomSlice(r, m*k), randomSlice(r, k*n)
			packed := PackB(NoTrans, n, k, b, n)
			for name, f := range map[string]func(c []float32){
				"nn":     func(c []float32) { Gemm(NoTrans, NoTrans, m, n, k, 1.5, a, k, b, n, 0.5, c, n) },
				"nt":     func(c []float32) { Gemm(NoTrans, Trans, m, n, k, 1.5, a, k, b, k, 0.5, c, n) },
				"tn":     func(c []float32) { Gemm(Trans, NoTrans, m, n, k, 1.5, a, m, b, n, 0.5, c, n) },
				"tt":     func(c []float32) { Gemm(Trans, Trans, m, n, k, 1.5, a, m, b, k, 0.5, c, n) },
				"packed": func(c []float32) { GemmPacked(m, 1, a, k, packed, 0.5, c, n, Epilogue{Bias: b[:n]}) },
			} {
				c0 := randomSlice(r, m*n)
				run := func(figures tune.Record) []float32 {
					tune.Used = figures
					c := slices.Clone(c0)
					f(c)
					return c
				}
				want := run(kept)
				if !slices.Equal(run(small), want) || !slices.Equal(run(large), want) || !slices.Equal(run(crowded), want) {
					t.Errorf("%dx%dx%d %s: other figures give something else", m, n, k, name)
				}
			}
		}
	})
}

// TestRowFromMemory multiplies one row by a B of more than 32 MiB, which is fetched ahead as the
// figures say. Its numbers are integers, so that every order of additions gives the same sums.
func TestRowFromMemory(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	const k, n = 2_903, 2_899
	a, b := make([]float32, k), make([]float32, k*n)
	r := rand.New(rand.NewPCG(9, 9))
	for p := range a {
		a[p] = float32(r.IntN(17) - 8)
	}
	for i := range b {
		b[i] = float32(i%1021 - 510)
	}
	nn, nt := make([]float32, n), make([]float32, n)
	for p, x := range a {
		for j := range n {
			nn[j] += x * b[p*n+j]
			nt[j] += x * b[j*k+p]
		}
	}
	eachISA(t, func(t *testing.T) {
		c := make([]float32, n)
		for _, ahead := range []int{0, 16} {
			tune.Used.Gemm.RowAhead = ahead
			if Gemm(NoTrans, NoTrans, 1, n, k, 1, a, k, b, n, 0, c, n); !slices.Equal(c, nn) {
				t.Errorf("nn, RowAhead %d: wrong", ahead)
			}
			if Gemm(NoTrans, Trans, 1, n, k, 1, a, k, b, k, 0, c, n); !slices.Equal(c, nt) {
				t.Errorf("nt, RowAhead %d: wrong", ahead)
			}
		}
	})
}
