package tune

import (
	"slices"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// TestRecords expects that the relations in the comments hold for the figures of each family, and
// for those derived from caches of many sizes. Only a measurement can show whether a figure is the
// best one.
func TestRecords(t *testing.T) {
	for _, f := range families {
		for _, p := range unfit(f.tuning) {
			t.Errorf("%s: %s", f.tuning.name, p)
		}
	}
	var smaller Record
	for _, l2 := range []int{128 * kib, 256 * kib, 512 * kib, 1024 * kib, 1280 * kib, 2048 * kib, 3072 * kib, 4096 * kib} {
		caches := [4]int{1: l2 / 16, 2: l2, 3: 16 * l2}
		r := Derived(caches)
		for _, p := range unfit(r) {
			t.Errorf("caches of %d bytes: %s", caches[1:], p)
		}
		if r.Ways < smaller.Ways || r.Gemm.MC < smaller.Gemm.MC || r.Gemm.NC < smaller.Gemm.NC || r.Rows.StreamElements < smaller.Rows.StreamElements {
			t.Errorf("caches of %d bytes have smaller blocks than smaller ones: %+v, %+v", caches[1:], r, smaller)
		}
		smaller = r
	}
}

// unfit lists the relations between figures that do not hold.
func unfit(r Record) (problems []string) {
	g, l1, l2 := r.Gemm, r.Ways*r.Sets*line, r.Gemm.NearElements*element
	for relation, holds := range map[string]bool{
		"MC rows of A take at most 5/8 of the second-level cache": g.MC == 28 || g.MC*order.Stretch*element <= l2*5/8,
		"MC is at most the one whose calls were timed":            g.MC <= Zen4.Gemm.MC,
		"NC and TileColumns are whole panels":                     g.NC > 0 && g.NC%64 == 0 && g.TileColumns > 0 && g.TileColumns%64 == 0,
		"PackRows divides a stretch":                              g.PackRows > 0 && order.Stretch%g.PackRows == 0,
		"InPlacePanel is half of the first-level cache":           g.InPlacePanel*element == l1/2,
		"rows around an InPlacePanel span more than it":           g.InPlaceSpan >= g.InPlacePanel,
		"pieces of panels of integers fit in the first-level cache": g.Int8Panel > 0 && g.WinogradPanel > 0 &&
			max(g.Int8Panel, g.WinogradPanel) < max(l1, 32*kib),
		"LinesSets of twice LinesWays are the second-level cache": g.LinesSets == l2/line/(2*g.LinesWays),
		"tiles in place: more where B is near":                    g.InPlaceTiles > 0 && (g.NearTiles == 0 || g.NearTiles > g.InPlaceTiles),
		"wide and streamed tiles are parts of a tile":             0 < g.WideNum && g.WideNum < g.WideDen && 0 < g.StreamNum && g.StreamNum < g.StreamDen,
		"what is fetched ahead is whole lines":                    g.Ahead%line == 0 && g.AheadBlocks%line == 0 && g.AheadBytes%line == 0 && g.RowAhead*element%line == 0,
		"RowColumns are whole lines, and half a first-level cache at most": g.RowColumns > 0 && g.RowColumns*element%line == 0 &&
			g.RowColumns*element <= max(l1, 32*kib)/2,
		"thresholds in rows are positive":                         min(g.Int8Rows, g.WinogradRows, g.TileRows, g.HalvesTiles, g.CopyColumns) > 0 && g.NextRows >= 0,
		"results past the caches are larger than parts of a call": r.Rows.StreamElements > r.Rows.CutElements && r.Rows.CutElements > r.Rows.PartElements,
		"a row that is cut has several parts":                     r.Rows.CutPart > 0 && r.Rows.CutElements >= 2*r.Rows.CutPart,
		"a thread that wakes costs more than one that is awake":   r.Threads.WakeWork > r.Threads.ReadyWork,
		"work for two threads is two parts":                       r.Threads.PartWork > 0 && r.Threads.ReadyWork >= 2*r.Threads.PartWork && r.Threads.Bands > 0,
	} {
		if !holds {
			problems = append(problems, relation)
		}
	}
	slices.Sort(problems)
	return problems
}

// TestUsed: the figures in use belong to the machine's family.
func TestUsed(t *testing.T) {
	family, model := simd.FamilyModel()
	if want := recordOf(simd.Vendor(), family, model, simd.Caches()); Used != want {
		t.Errorf("%s, want %s", Used.name, want.name)
	}
}

// TestAliases compares with a count line by line.
func TestAliases(t *testing.T) {
	kept := Used
	t.Cleanup(func() { Used = kept })
	for _, record := range []Record{Zen4, neoverseN1} {
		Used = record
		for _, ld := range []int{0, 1, 3, 8, 15, 16, 17, 24, 48, 100, 250, 512, 1000, 1016, 1024, 1032, 1040, 1536, 2048, 3000, 4096, 4104} {
			for _, rows := range []int{1, 2, 5, 8, 9, 14, 16, 64, 70} {
				lines := map[int]bool{}
				for i := range rows {
					lines[i*ld*element/line] = true
				}
				want, sets := 0, map[int]int{}
				for l := range lines {
					sets[l%record.Sets]++
					want = max(want, sets[l%record.Sets])
				}
				if got := aliases(ld, rows); got != want {
					t.Errorf("%s: %d rows %d apart: %d share a set, want %d", record.name, rows, ld, got, want)
				}
				crowd := want > record.Ways && rows*ld*element > record.Ways*record.Sets*line
				if got := Crowd(ld, rows); got != crowd {
					t.Errorf("%s: %d rows %d apart: %v", record.name, rows, ld, got)
				}
			}
		}
	}
}

// TestLimits tests sizes on both sides of a limit.
func TestLimits(t *testing.T) {
	kept := Used
	t.Cleanup(func() { Used = kept })
	Used = Zen4 // 32 KiB
	if !HoldsTwo(16<<10) || HoldsTwo(16<<10+1) {
		t.Error("a cache of 32 KiB holds two pieces of 16 KiB, and no larger ones")
	}
	if !TwoLines(32) || TwoLines(31) || TwoLines(16) {
		t.Error("32 floats are two lines of 64 bytes, and no fewer are")
	}
}
