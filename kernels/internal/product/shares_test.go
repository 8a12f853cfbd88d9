package product

import (
	"math"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// work is a thread's share of a product: multiply-adds of whole tiles, and elements of A and B that
// it copies, widens or converts to integers.
type work struct {
	multiplied, copied int
	rows               [2]int // the last rows that it converted
}

// shareOfThread returns the work of goroutine i of t if no goroutine takes parts from another one.
// The goroutine takes parts as package par distributes them: half of the remaining parts of its
// share at a time.
func (g *call) shareOfThread(i, t int) (w work) {
	parts := g.cutM * g.cutN * g.batch
	from, to := parts*i/t, parts*(i+1)/t
	bands, inBand := g.cutM, g.cutN
	if g.byRows {
		bands, inBand = g.cutN, g.cutM
	}
	for from < to {
		end := from + max(1, (to-from)/2)
		for from < end { // blocks as in Do
			band, first := from/inBand%bands, from%inBand
			last := min(first+end-from, inBand)
			i0, i1, j0, j1 := band, band+1, first, last
			if g.byRows {
				i0, i1, j0, j1 = j0, j1, i0, i1
			}
			m, n := min(i1*g.tall, g.m)-i0*g.tall, min(j1*g.wide, g.n)-j0*g.wide
			w.add(g, i0*g.tall, m, n)
			from += last - first
		}
	}
	return w
}

// add adds a block of m rows from row i on. A tile of fewer rows takes less time; a tile of fewer
// columns takes the same.
func (w *work) add(g *call, i, m, n int) {
	columns := (n + g.nr - 1) / g.nr * g.nr
	w.multiplied += m * columns * g.k
	if rows := [2]int{i, i + m}; g.copyA || g.converts() && rows != w.rows {
		w.copied += m * g.k
		w.rows = rows
	}
	if ways[g.way].makes {
		strips := 1
		if g.way == widened {
			strips = (m + g.mc - 1) / g.mc
		}
		w.copied += strips * columns * g.k
	}
}

// TestWorkOfThreads computes the work of the busiest thread for the products of a layer and of a
// prompt. With more threads the work decreases in proportion, and the elements that each block
// copies again stay a small part. With -v it prints the table of doc/measurements/threads.md.
func TestWorkOfThreads(t *testing.T) {
	isa := simd.Active()
	for _, x := range []struct {
		name    string
		m, n, k int
		format  *weights.Record
		trans   bool
	}{
		{"packed", 128, 768, 768, weights.Of(weights.F32, isa), false},
		{"packed", 512, 3072, 768, weights.Of(weights.F32, isa), false},
		{"packed", 512, 768, 3072, weights.Of(weights.F32, isa), false},
		{"bf16", 512, 3072, 768, weights.Of(weights.BF16, isa), false},
		{"int8", 512, 3072, 768, weights.Of(weights.Int8, isa), false},
		{"int8", 128, 768, 768, weights.Of(weights.Int8, isa), false},
		{"nn", 2048, 2048, 2048, nil, false},
		{"nt", 128, 768, 3072, nil, true},
	} {
		one := 0.0
		for threads := 1; threads <= 16; threads *= 2 {
			var g call
			g.isa, g.batch = isa, 1
			g.m, g.n, g.k = x.m, x.n, x.k
			g.a.LD, g.b.LD, g.b.Trans = x.k, x.n, x.trans
			if x.trans {
				g.b.LD = x.k
			}
			if x.format != nil {
				g.b.packed = &weights.Matrix{Record: x.format, K: x.k, N: x.n}
			}
			a, b := g.operands()
			g.way = wayOf(a, b)
			g.decide(threads, a, b)
			var busiest work
			total := 0
			for i := range threads {
				w := g.shareOfThread(i, threads)
				busiest.multiplied, busiest.copied = max(busiest.multiplied, w.multiplied), max(busiest.copied, w.copied)
				total += w.multiplied
			}
			if threads == 1 {
				one = float64(busiest.multiplied)
			}
			gain := one / float64(busiest.multiplied)
			perCopied := float64(busiest.multiplied) / math.Max(float64(busiest.copied), 1)
			t.Logf("%-6s %dx%dx%d, %2d threads: %3d parts, the busiest has 1/%.1f of the multiply-adds, %.2f MiB copied", x.name, x.m, x.n, x.k, threads, g.cutM*g.cutN, gain, float64(busiest.copied)*4/(1<<20))
			if total < x.m*x.n*x.k || float64(total) > 1.3*float64(x.m*x.n*x.k) {
				t.Errorf("%s %dx%dx%d, %d threads: %d multiply-adds altogether, want %d and a little", x.name, x.m, x.n, x.k, threads, total, x.m*x.n*x.k)
			}
			if gain < 0.75*float64(threads) {
				t.Errorf("%s %dx%dx%d: the busiest of %d threads has 1/%.1f of the multiply-adds", x.name, x.m, x.n, x.k, threads, gain)
			}
			if busiest.copied > 0 && perCopied < 24 {
				t.Errorf("%s %dx%dx%d: a thread of %d makes %.0f multiply-adds for each element that it copies", x.name, x.m, x.n, x.k, threads, perCopied)
			}
		}
	}
}
