package product

import (
	"math"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// TestNearAtOnce expects that a product runs without a plan exactly if its plan is a single call.
func TestNearAtOnce(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	small := tune.Derived([4]int{0, 16 << 10, 256 << 10, 8192 << 10})
	small.Threads.WakeWork, small.Gemm.CopyColumns = 1<<16, 8
	eachISA(t, func(t *testing.T) {
		accepted := 0
		for _, tune.Used = range []tune.Record{tune.Zen4, tune.SapphireRapids, small} {
			tune.Used.Threads.ReadyWork = math.MaxInt // the number of awake threads does not depend on the test
			for _, m := range []int{1, 2, 3, 6, 7, 14, 15, 40, 130, 300} {
				for _, n := range []int{1, 7, 8, 16, 31, 64, 100, 256, 1000} {
					for _, k := range []int{1, 5, 64, 100, 512, 1024, 1025, 2000} {
						for _, lds := range [][2]int{{k, n}, {k + 3, n + 5}, {1024, 1024}, {4096, 512}, {2048, 4096}} {
							lda, ldb := max(lds[0], k), max(lds[1], n)
							for _, threads := range []int{1, 2} {
								g := call{isa: simd.Active(), batch: 1, m: m, n: n, k: k}
								g.a.LD, g.b.LD = lda, ldb
								a, b := g.operands()
								if g.way = wayOf(a, b); g.way != near || !g.way.atOnce(a, b, 1, 0) || worthThreads(threads, workOf(a, b)) {
									continue
								}
								accepted++
								g.decide(threads, a, b)
								if m == 1 || !g.oneCall || g.cutM*g.cutN > 1 || m*n > nearWork/k {
									t.Errorf("%dx%dx%d, lda %d, ldb %d, %d threads: by plan %+v", m, n, k, lda, ldb, threads, g.plan)
								}
							}
						}
					}
				}
			}
		}
		if has := simd.KernelGemmNear.On(simd.Active()).ISA == simd.Active(); has != (accepted > 0) {
			t.Errorf("%d products without a plan", accepted)
		}
	})
}

// TestThreadsKeepTheirRows expects a packed B with many rows to be cut so that a thread has whole
// rows of C, which the next product of a layer then reads where they were written.
func TestThreadsKeepTheirRows(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	tune.Used = tune.Zen4
	eachISA(t, func(t *testing.T) {
		for _, c := range []struct {
			m, n, k int
			threads int
			want    bool
		}{
			{256, 2304, 768, 2, true}, {256, 768, 768, 2, true}, {512, 768, 768, 2, true}, {1024, 768, 3072, 4, true},
			{28, 768, 768, 2, false}, // few rows; otherwise B would be read twice
		} {
			p := weights.New("PackB", weights.Of(weights.F32, simd.Active()), c.k, c.n)
			g := call{isa: simd.Active(), batch: 1, m: c.m, n: c.n, k: c.k}
			g.mr, g.nr = simd.GemmTile(g.isa)
			g.a.LD, g.b.packed = c.k, &p
			a, b := g.operands()
			g.way = wayOf(a, b)
			g.decide(c.threads, a, b)
			if got := !g.byRows && g.cutM%c.threads == 0; got != c.want {
				t.Errorf("%+v: by rows %v, %dx%d parts of %dx%d", c, g.byRows, g.cutM, g.cutN, g.tall, g.wide)
			}
		}
	})
}
