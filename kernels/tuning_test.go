package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

const kib = 1 << 10

// TestTuning wants measured figures for the CPUs that have them, and for others figures
// that fit their caches: the measured ones where the caches are alike.
func TestTuning(t *testing.T) {
	zen4Caches := [4]int{0, 32 * kib, 1024 * kib, 32768 * kib}
	like := func(name string) tuning {
		want := zen4
		want.name = name
		return want
	}
	for _, c := range []struct {
		vendor        string
		family, model int
		caches        [4]int
		want          tuning
	}{
		{"AuthenticAMD", 0x19, 0x11, zen4Caches, zen4},
		{"AuthenticAMD", 0x19, 0x61, [4]int{}, zen4},
		{"AuthenticAMD", 0x19, 0x21, zen4Caches, like("derived from cache sizes")}, // Zen 3
		{"GenuineIntel", 0x06, 0xcf, [4]int{}, sapphireRapids},
		{"GenuineIntel", 0x19, 0x11, zen4Caches, like("derived from cache sizes")},
		{"", 0, 0, [4]int{}, like("derived from cache sizes")},
	} {
		if got := tuningOf(c.vendor, c.family, c.model, c.caches); got != c.want {
			t.Errorf("%s family %#x model %#x: %+v, want %+v", c.vendor, c.family, c.model, got, c.want)
		}
	}
	for _, c := range []struct {
		name   string
		caches [4]int
		ways   int
		mc, nc int
		stream int
	}{
		{"Zen 5", [4]int{0, 48 * kib, 1024 * kib, 32768 * kib}, 12, 140, 1024, 1 << 22},
		{"Zen 3", [4]int{0, 32 * kib, 512 * kib, 32768 * kib}, 8, 70, 1024, 1 << 22},
		{"Sapphire Rapids", [4]int{0, 48 * kib, 2048 * kib, 107520 * kib}, 12, 140, 1024, 105 << 17},
		{"Skylake, 8 MiB", [4]int{0, 32 * kib, 256 * kib, 8192 * kib}, 8, 35, 256, 1 << 20},
		{"a very small one", [4]int{0, 1 * kib, 4 * kib, 16 * kib}, 1, 28, 256, 1 << 20},
		{"a very large one", [4]int{0, 1024 * kib, 1 << 30, 1<<31 - 1}, 256, 140, 1024, 1 << 24},
	} {
		got := derived(c.caches)
		if got.ways != c.ways || got.gemm.mc != c.mc || got.gemm.nc != c.nc || got.rows.streamElements != c.stream {
			t.Errorf("%s: ways %d, mc %d, nc %d, stream %d, want %d, %d, %d, %d", c.name,
				got.ways, got.gemm.mc, got.gemm.nc, got.rows.streamElements, c.ways, c.mc, c.nc, c.stream)
		}
	}
}

// TestFitsLines wants B in place up to the tiles of the family, where its rows fill lines and do
// not crowd.
func TestFitsLines(t *testing.T) {
	kept := tuned
	t.Cleanup(func() { tuned = kept })
	tuned = sapphireRapids
	for _, c := range []struct {
		m, k, ld int
		want     bool
	}{{560, 768, 768, true}, {561, 768, 768, false}, {128, 3072, 768, true}, {128, 768, 776, false}, {128, 768, 3072, false}, {128, 256, 3072, true}, {100, 1024, 1024, false}, {100, 1040, 1040, true}} {
		g := gemmCall{m: c.m, k: c.k, mr: 14, nr: 32, b: operandB{ld: c.ld}}
		if got := g.fitsLines(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if tuned = zen4; (&gemmCall{m: 1, k: 8, mr: 14, nr: 32, b: operandB{ld: 16}}).fitsLines() {
		t.Error("not for zen4")
	}
}

func TestCrowdsFar(t *testing.T) {
	kept := tuned
	t.Cleanup(func() { tuned = kept })
	tuned = sapphireRapids
	for _, c := range []struct {
		k, ld int
		want  bool
	}{{768, 3072, true}, {512, 3072, false}, {1024, 1024, true}, {512, 1024, false}, {1025, 2048, true}, {768, 768, false}, {768, 3080, false}, {17, 1 << 17, true}} {
		if got := crowdsFar(c.k, c.ld); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestFitsTiles: of the second tile on, rows of one line must not have crowded each other out.
func TestFitsTiles(t *testing.T) {
	kept := tuned
	t.Cleanup(func() { tuned = kept })
	tuned = zen4
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
	kept := tuned
	t.Cleanup(func() { tuned = kept })
	small := derived([4]int{0, 16 * kib, 256 * kib, 8192 * kib})
	small.threads.wakeWork, small.gemm.copyColumns = 1<<16, 8
	eachISA(t, func(t *testing.T) {
		accepted := 0
		for _, tuned = range []tuning{zen4, sapphireRapids, small} {
			tuned.threads.readyWork = math.MaxInt // whether threads are awake changes by itself
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
								g.a.ld, g.b.ld = lda, ldb
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
	kept := tuned
	t.Cleanup(func() { tuned = kept })
	tuned = zen4
	eachISA(t, func(t *testing.T) {
		for _, c := range []struct {
			m, n, k int
			threads Threads
			want    bool
		}{
			{256, 2304, 768, 2, true}, {256, 768, 768, 2, true}, {512, 768, 768, 2, true}, {1024, 768, 3072, 4, true},
			{28, 768, 768, 2, false}, // B would be read twice for few rows
		} {
			p := newPackedB("PackB", formatOf(FormatF32, Active()), c.k, c.n)
			g := gemmCall{isa: Active(), batch: 1, m: c.m, n: c.n, k: c.k}
			g.mr, g.nr = simd.GemmTile(g.isa)
			g.a.ld, g.b.packed = c.k, p
			g.plan(c.threads)
			if got := !g.byRows && g.cutM%int(c.threads) == 0; got != c.want {
				t.Errorf("%+v: by rows %v, %dx%d parts of %dx%d", c, g.byRows, g.cutM, g.cutN, g.tall, g.wide)
			}
		}
	})
}

// TestTuningChangesNoResult computes the same products with very different figures.
func TestTuningChangesNoResult(t *testing.T) {
	kept := tuned
	t.Cleanup(func() { tuned = kept })
	small, large, crowded := kept, kept, kept
	small.ways, large.ways = 1, 1<<20
	small.gemm = gemmTuning{mc: 20, nc: 32, packRows: 1, inPlaceTiles: 20, inPlacePanel: 1 << 20, inPlaceSpan: 1 << 30, nearElements: 1 << 30,
		linesTiles: 20, linesSets: 64, linesWays: 1 << 20, spread: 1, wideNum: 1, wideDen: 1, streamNum: 20, streamDen: 1, copyColumns: 1}
	large.gemm = gemmTuning{mc: 1 << 20, nc: 1 << 20, packRows: 1 << 20, wideDen: 1, streamDen: 1, copyColumns: 1 << 20}
	crowded.gemm.linesSets, crowded.gemm.linesWays = 64, 0 // every B of whole lines crowds the second-level cache
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
				run := func(figures tuning) []float32 {
					tuned = figures
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
