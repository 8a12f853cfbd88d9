package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// TestFitsLines wants B in place up to the tiles of the family, where its rows fill lines and do
// not crowd.
func TestFitsLines(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	tune.Used = tune.SapphireRapids
	for _, c := range []struct {
		m, k, ld int
		want     bool
	}{{560, 768, 768, true}, {561, 768, 768, false}, {128, 3072, 768, true}, {128, 768, 776, false}, {128, 768, 3072, false}, {128, 256, 3072, true}, {100, 1024, 1024, false}, {100, 1040, 1040, true}} {
		g := gemmCall{m: c.m, k: c.k, mr: 14, nr: 32, b: operand{B: pack.B{LD: c.ld}}}
		if got := g.fitsLines(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if tune.Used = tune.Zen4; (&gemmCall{m: 1, k: 8, mr: 14, nr: 32, b: operand{B: pack.B{LD: 16}}}).fitsLines() {
		t.Error("not for zen4")
	}
}

// TestFitsTiles: of the second tile on, rows of one line must not have crowded each other out.
func TestFitsTiles(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	tune.Used = tune.Zen4
	for _, c := range []struct {
		m, nr, k, ld int
		want         bool
	}{{6, 16, 768, 3072, true}, {7, 16, 768, 3072, false}, {7, 16, 256, 3072, true}, {7, 16, 768, 3080, true}, {18, 16, 768, 768, true},
		{19, 16, 768, 768, false}, {18, 32, 768, 3072, true}} {
		if got := fitsTiles(c.m, c.k, c.ld, 6, c.nr); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestNearAtOnce wants products that run without a plan to be those that would be one call by plan.
func TestNearAtOnce(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	small := tune.Derived([4]int{0, 16 << 10, 256 << 10, 8192 << 10})
	small.Threads.WakeWork, small.Gemm.CopyColumns = 1<<16, 8
	eachISA(t, func(t *testing.T) {
		accepted := 0
		for _, tune.Used = range []tune.Record{tune.Zen4, tune.SapphireRapids, small} {
			tune.Used.Threads.ReadyWork = math.MaxInt // whether threads are awake changes by itself
			for _, m := range []int{1, 2, 3, 6, 7, 14, 15, 40, 130, 300} {
				for _, n := range []int{1, 7, 8, 16, 31, 64, 100, 256, 1000} {
					for _, k := range []int{1, 5, 64, 100, 512, 1024, 1025, 2000} {
						for _, lds := range [][2]int{{k, n}, {k + 3, n + 5}, {1024, 1024}, {4096, 512}, {2048, 4096}} {
							lda, ldb := max(lds[0], k), max(lds[1], n)
							for _, threads := range []Threads{1, 2} {
								if !nearAtOnce(threads, m, n, k, lda, ldb) {
									continue
								}
								accepted++
								g := gemmCall{isa: Active(), batch: 1, m: m, n: n, k: k}
								g.mr, g.nr = simd.GemmTile(g.isa)
								g.a.LD, g.b.LD = lda, ldb
								g.plan(threads)
								if m == 1 || !g.oneCall || g.cutM*g.cutN > 1 || m*n > nearWork/k {
									t.Errorf("%dx%dx%d, lda %d, ldb %d, %d threads: by plan %+v", m, n, k, lda, ldb, threads, g.gemmPlan)
								}
							}
						}
					}
				}
			}
		}
		if has := simd.KernelGemmNear.On(Active()).ISA == Active(); has != (accepted > 0) {
			t.Errorf("%d products without a plan", accepted)
		}
	})
}

// TestThreadsKeepTheirRows wants a packed B with many rows cut so that a thread has whole rows of C,
// which the next product of a layer then reads where they were written.
func TestThreadsKeepTheirRows(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	tune.Used = tune.Zen4
	eachISA(t, func(t *testing.T) {
		for _, c := range []struct {
			m, n, k int
			threads Threads
			want    bool
		}{
			{256, 2304, 768, 2, true}, {256, 768, 768, 2, true}, {512, 768, 768, 2, true}, {1024, 768, 3072, 4, true},
			{28, 768, 768, 2, false}, // B would be read twice for few rows
		} {
			p := weights.New("PackB", weights.Of(weights.F32, Active()), c.k, c.n)
			g := gemmCall{isa: Active(), batch: 1, m: c.m, n: c.n, k: c.k}
			g.mr, g.nr = simd.GemmTile(g.isa)
			g.a.LD, g.b.packed = c.k, &p
			g.plan(c.threads)
			if got := !g.byRows && g.cutM%int(c.threads) == 0; got != c.want {
				t.Errorf("%+v: by rows %v, %dx%d parts of %dx%d", c, g.byRows, g.cutM, g.cutN, g.tall, g.wide)
			}
		}
	})
}

// TestTuningChangesNoResult computes the same products with very different figures.
func TestTuningChangesNoResult(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	small, large, crowded := kept, kept, kept
	small.Ways, large.Ways = 1, 1<<20
	small.Gemm = tune.Gemm{MC: 20, NC: 32, PackRows: 1, InPlaceTiles: 20, InPlacePanel: 1 << 20, InPlaceSpan: 1 << 30, NearElements: 1 << 30,
		LinesTiles: 20, LinesSets: 64, LinesWays: 1 << 20, Spread: 1, WideNum: 1, WideDen: 1, StreamNum: 20, StreamDen: 1, CopyColumns: 1}
	large.Gemm = tune.Gemm{MC: 1 << 20, NC: 1 << 20, PackRows: 1 << 20, WideDen: 1, StreamDen: 1, CopyColumns: 1 << 20}
	crowded.Gemm.LinesSets, crowded.Gemm.LinesWays = 64, 0 // every B of whole lines crowds the second-level cache
	r := rand.New(rand.NewPCG(8, 8))
	eachISA(t, func(t *testing.T) {
		for _, s := range gemmShapes {
			m, n, k := s[0], s[1], s[2]
			if m*n*k > 1<<22 {
				continue
			}
			a, b := randomSlice(r, m*k), randomSlice(r, k*n)
			packed := PackB(NoTrans, k, n, b, n)
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
