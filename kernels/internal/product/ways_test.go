package product

import (
	"strings"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// TestWays expects that there is a product for each way. With -v it prints the table.
func TestWays(t *testing.T) {
	packed := func(f weights.Format) *weights.Record { return weights.Of(f, simd.Active()) }
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	tune.Used = tune.Zen4
	for w, s := range [...]struct {
		a left
		b right
	}{
		rowByRows:    {left{m: 1, k: 768, ld: 768}, right{n: 768, ld: 768}},
		dots:         {left{m: 10, k: 512, ld: 512}, right{n: 512, ld: 512, trans: true}},
		near:         {left{m: 4, k: 64, ld: 64}, right{n: 64, ld: 64}},
		inPlace:      {left{m: 4, k: 4096, ld: 4096}, right{n: 4096, ld: 4096}},
		packedHere:   {left{m: 512, k: 4096, ld: 4096}, right{n: 4096, ld: 4096}},
		integers:     {left{m: 128, k: 768, ld: 768}, right{n: 768, format: packed(weights.Q4_K)}},
		pairsOf16:    {left{m: 1, k: 768, ld: 768}, right{n: 768, format: &weights.Record{Format: weights.BF16Fast, PairsOf16: true}}},
		rowByPanels:  {left{m: 1, k: 768, ld: 768}, right{n: 768, format: packed(weights.BF16)}},
		halves:       {left{m: 4, k: 768, ld: 768}, right{n: 768, format: packed(weights.F16)}},
		widened:      {left{m: 512, k: 768, ld: 768}, right{n: 768, format: packed(weights.F16)}},
		packedBefore: {left{m: 512, k: 768, ld: 768}, right{n: 768, format: packed(weights.F32)}},
	} {
		r := &ways[w]
		t.Logf("%-18s %s (%s)", r.name, r.why, strings.Join(strings.Fields(r.reads), ", "))
		isa := simd.Active()
		if way(w) == halves && !s.b.format.HasPanel() || way(w) == near && simd.KernelGemmNear.On(isa).ISA != isa {
			continue // this tier has no kernel for it
		}
		if got := wayOf(s.a, s.b); got != way(w) {
			t.Errorf("%+v goes by %s, want %s", s, ways[got].name, r.name)
		}
	}
}

// TestFitsLines expects that B is read in place, up to the family's number of tiles, if its rows
// fill lines and do not evict each other.
func TestFitsLines(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	tune.Used = tune.SapphireRapids
	for _, c := range []struct {
		m, k, ld int
		want     bool
	}{{560, 768, 768, true}, {561, 768, 768, false}, {128, 3072, 768, true}, {128, 768, 776, false}, {128, 768, 3072, false}, {128, 256, 3072, true}, {100, 1024, 1024, false}, {100, 1040, 1040, true}} {
		if got := fitsLines(left{m: c.m, k: c.k}, right{ld: c.ld}, 14, 32); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if tune.Used = tune.Zen4; fitsLines(left{m: 1, k: 8}, right{ld: 16}, 14, 32) {
		t.Error("not for zen4")
	}
}

// TestFitsTiles: with several tiles, rows of one line must not have evicted each other.
func TestFitsTiles(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	tune.Used = tune.Zen4
	for _, c := range []struct {
		m, nr, k, ld int
		want         bool
	}{{7, 16, 768, 3072, false}, {7, 16, 256, 3072, true}, {7, 16, 768, 3080, true}, {18, 16, 768, 768, true},
		{19, 16, 768, 768, false}, {18, 32, 768, 3072, true}} {
		if got := fitsTiles(left{m: c.m, k: c.k}, right{ld: c.ld}, 6, c.nr); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
