package kernels

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// The figures that depend on the CPU: sizes of blocks, and where one way to the same
// result overtakes another. To change them for one family of CPUs, give it a record in
// families. No figure here changes a result: what decides in what order numbers are
// summed up stands with the code that sums them, and is the same on every machine (see
// gemmOrder).

// tuning is the figures of one family of CPUs.
type tuning struct {
	name    string
	ways    int // of the first-level data cache, of 64 sets of 64 bytes each
	gemm    gemmTuning
	rows    rowTuning
	threads threadTuning
}

// gemmTuning is for matrix products. Sizes are in elements of float32.
type gemmTuning struct {
	// An mc x kc block of A stays in the second-level cache, or at worst in the third
	// level, while the panels of B pass by. One call of the micro-kernel makes at most
	// 2*mc*kc*NR operations, which bounds the time that it holds a P.
	mc int
	// nc columns of B are packed at a time, if A has several blocks of rows.
	nc int
	// packRows rows of B are packed panel by panel before the next rows.
	packRows int
	// Up to inPlaceTiles tiles of rows of A, B is read in place instead of packed.
	// So it is for more rows where a panel of inPlacePanel elements stays in the
	// first-level cache and the matrix around it spans inPlaceSpan elements, some 32
	// pages, which leaves translations for those of C.
	inPlaceTiles, inPlacePanel, inPlaceSpan int
	// Up to nearElements, B in place is taken to be in a core's own caches. Then it is read in place up to
	// nearTiles tiles too, where a panel has two lines of each row, which do not all share a set.
	nearElements, nearTiles int
	// Up to linesTiles tiles too, where rows of B are whole cache lines and at most linesWays of a
	// panel share one of linesSets sets of the second-level cache.
	linesTiles, linesSets, linesWays int
	// From spread elements on, a B in place is fetched by many tiles instead of the last.
	spread int
	// Up to wideNum/wideDen of a tile's rows, B in place is read by wide tiles: 8 rows of
	// AVX-512's 14 are two wide tiles of four, and 3 of AVX2's 6 are one.
	wideNum, wideDen int
	// Up to streamNum/streamDen of a tile's rows, 5 of AVX-512's and 2 of AVX2's, a
	// packed B is read as fast as memory delivers one stream, and not fetched ahead.
	streamNum, streamDen int
	// Up to halvesTiles tiles of rows of A, a packed B of 16 bits is widened on the way into
	// the multiply-adds, and from there on before.
	halvesTiles int
	// int8Rows rows of A become integers at a time, and int8Panel bytes of a panel of int8
	// stay in the first-level cache while they are multiplied with them.
	int8Rows, int8Panel int
	// From winogradRows rows on, a panel of int8 is made words for Winograd's inner product,
	// winogradPanel bytes at a time.
	winogradRows, winogradPanel int
	// A packed B that one row is multiplied with, and one in blocks always, is fetched ahead bytes
	// before its use; 0 where the machine does so by itself.
	ahead int
	// copyColumns columns are worth a copy of A's rows.
	copyColumns int
}

// rowTuning is for functions that work row by row or element by element, in elements.
type rowTuning struct {
	// From streamElements on, the result of a call is written past the caches. Much of
	// it would be gone from a shared cache before its next use, and a line must be read
	// before a part of it is written to the cache.
	streamElements int
	// A part of a parallel call has about partElements: some microseconds' work, several
	// times what it costs to hand it out. A call with fewer than two parts is serial.
	partElements int
	// A part of a softmax has cutPart elements of a long row, since it takes longer than
	// most functions. Where there are fewer rows than threads, rows from cutElements on
	// are cut. Such a row is handed out once for each pass: with 24576 elements two
	// threads gain an eighth only.
	cutPart, cutElements int
}

// threadTuning is for cutting products, in multiply-adds at full speed.
type threadTuning struct {
	wakeWork  int // the least that is worth waking a second thread
	readyWork int // the least that is worth a second thread that is awake
	partWork  int // the least for a part
	bands     int // a product is cut into at most this many bands for each thread
}

// tuned is the figures for this machine.
var tuned = func() tuning {
	family, model := simd.FamilyModel()
	return tuningOf(simd.Vendor(), family, model, simd.Caches())
}()

// families are the CPUs on which the figures were measured, by what CPUID says.
var families = []struct {
	vendor string
	family int
	models []modelRange
	tuning tuning
}{
	{"AuthenticAMD", 0x19, []modelRange{{0x10, 0x1f}, {0x60, 0x7f}, {0xa0, 0xaf}}, zen4},
	{"GenuineIntel", 0x06, []modelRange{{0x8f, 0x8f}, {0xcf, 0xcf}}, sapphireRapids},
}

type modelRange struct{ first, last int }

// tuningOf is the record of a family, or, for a CPU without one, zen4's with what
// follows from the sizes of the caches in bytes, by level.
func tuningOf(vendor string, family, model int, caches [4]int) tuning {
	for _, f := range families {
		if f.vendor == vendor && f.family == family &&
			slices.ContainsFunc(f.models, func(r modelRange) bool { return r.first <= model && model <= r.last }) {
			return f.tuning
		}
	}
	return derived(caches)
}

// derived makes the same use of caches of other sizes as zen4 makes of its own. A level
// that is not known counts as one of zen4's.
func derived(caches [4]int) tuning {
	t := zen4
	t.name = "derived from cache sizes"
	const element, line, sets = 4, 64, 64
	if l1 := caches[1]; l1 > 0 {
		t.ways = max(l1/(line*sets), 1)
		t.gemm.inPlacePanel = l1 / 2 / element
	}
	if l2 := caches[2]; l2 > 0 {
		// 35/64 of it, and never more than zen4's: mc bounds the time of a call too.
		t.gemm.mc = min(max(l2/element/gemmOrder.kc*35/64, 28), zen4.gemm.mc)
		t.gemm.nearElements = l2 / element
		t.gemm.linesSets = l2 / line / (2 * t.gemm.linesWays) // as if it had zen4's ways
	}
	if l3 := caches[3]; l3 > 0 {
		t.rows.streamElements = min(max(l3/2/element, 1<<20), 1<<24)
		t.gemm.nc = min(max(l3/8/element/gemmOrder.kc/64*64, 256), zen4.gemm.nc)
	}
	return t
}

// zen4 was measured on 2 cores of an AMD EPYC of this family (L1 32 KiB, L2 1 MiB, L3
// 32 MiB), each figure by going through values around it at the sizes where it takes
// effect, with bench/cmd/compare for single cases and bench/cmd/sweep for all.
var zen4 = tuning{
	name: "zen4",
	ways: 8,
	gemm: gemmTuning{
		mc: 140, nc: 1024, packRows: 32,
		inPlaceTiles: 3, inPlacePanel: 1 << 12, inPlaceSpan: 1 << 15, linesSets: 2048, linesWays: 4, spread: math.MaxInt,
		nearElements: 1 << 18, nearTiles: 20,
		wideNum: 4, wideDen: 7, streamNum: 2, streamDen: 5, halvesTiles: 2,
		int8Rows: 132, int8Panel: 24 << 10, winogradRows: 16, winogradPanel: 24 << 10,
		copyColumns: 64,
	},
	rows: rowTuning{
		streamElements: 1 << 22, partElements: 1 << 14,
		cutPart: 1 << 13, cutElements: 7 << 12,
	},
	threads: threadTuning{wakeWork: 1 << 20, readyWork: 1 << 18, partWork: 1 << 17, bands: 4},
}

// sapphireRapids was measured on 2 cores of an Intel Xeon of model 0xcf, Emerald Rapids (L1 48 KiB, L2
// 2 MiB), on products of 8 to 1024 rows. It is zen4's but for the sizes of the caches and for
// linesTiles: a packed panel is read no faster than B in place, so that packing seldom pays.
// Twice zen4's mc, half its nc, and half and twice its packRows make no difference; half its mc costs 5%.
// Products of few rows fetch B ahead: what widens and multiplies it waits in the scheduler, which is
// full before as many lines are on their way as could be.
var sapphireRapids = func() tuning {
	t := derived([4]int{1: 48 << 10, 2: 2 << 20, 3: 260 << 20})
	t.name = "sapphire rapids"
	t.gemm.spread, t.gemm.nearTiles = 1<<19, 0
	t.gemm.linesTiles, t.gemm.linesSets, t.gemm.linesWays = 40, 2048, 8
	t.gemm.ahead = 4 << 10
	return t
}()
