// Package tune has the figures by which the packages of kernels decide: sizes of blocks, and the
// sizes at which one way to a result becomes faster than another.
//
// families.go has the figures that depend on the CPU. To change them for one family of CPUs, give
// it a record in families. No figure there changes a result. The figures that decide the order of
// sums are in order.go, or next to the code that computes the sums, and are the same on every
// machine. cache.go decides which rows of a matrix share sets of a cache.
package tune

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Record holds the figures of one family of CPUs. The tag of a figure has its unit, the place where
// it was measured or justified, as a page of doc/measurements and words on that page, and the
// families on which it was measured; for other families it is derived.
type Record struct {
	name string
	// computed says that the figures follow from published sizes, and that nothing was measured.
	computed bool
	// Ways and Sets describe the first-level data cache. A line has 64 bytes.
	Ways    int `unit:"lines" at:"products: rows of A 2 KiB apart read in place instead of copied" on:"zen4"`
	Sets    int `unit:"sets" at:"products: rows of A 2 KiB apart read in place instead of copied" on:"zen4"`
	Gemm    Gemm
	Rows    Rows
	Threads Threads
}

// Gemm is for matrix products. Sizes are in elements of float32.
type Gemm struct {
	// An mc x kc block of A stays in the second-level cache, or at worst in the third level, while
	// it is multiplied by the panels of B. One call of the micro-kernel makes at most 2*mc*kc*NR
	// operations, which bounds the time for which it holds a P.
	MC int `unit:"rows of A" at:"products: mc of 280, nc of 512, packRows of 16 or 64" on:"zen4, sapphire rapids"`
	// nc columns of B are packed at a time, if A has several blocks of rows.
	NC int `unit:"columns of B" at:"products: mc of 280, nc of 512, packRows of 16 or 64" on:"zen4, sapphire rapids"`
	// PackRows rows of B are packed panel by panel before the next rows.
	PackRows int `unit:"rows of B" at:"products: mc of 280, nc of 512, packRows of 16 or 64" on:"zen4, sapphire rapids"`
	// For up to InPlaceTiles tiles of rows of A, B is read in place instead of packed. For more
	// rows it is read in place if a panel of InPlacePanel elements stays in the first-level cache
	// and the matrix around the panel spans at most InPlaceSpan elements, about 32 pages, which
	// leaves translations for those of C.
	InPlaceTiles int `unit:"tiles of rows" at:"products: B in place with prefetch, not packed" on:"zen4"`
	InPlacePanel int `unit:"elements" at:"products: in place for many rows only where B spans at most 128 KiB" on:"zen4"`
	InPlaceSpan  int `unit:"elements" at:"products: in place for many rows only where B spans at most 128 KiB" on:"zen4"`
	// A B in place of up to NearElements elements counts as being in a core's own caches. It is
	// then read in place for up to NearTiles tiles, too, if a row of a panel is two lines and the
	// rows do not all share a set.
	NearElements int `unit:"elements of B" at:"products: no plan up to 2^20 multiply-adds" on:"zen4"`
	NearTiles    int `unit:"tiles of rows" at:"products: in place for more than three tiles of rows" on:"zen4, sapphire rapids"`
	// B is also read in place for up to LinesTiles tiles if its rows are whole cache lines and at
	// most LinesWays of a panel share one of LinesSets sets of the second-level cache.
	LinesTiles int `unit:"tiles of rows" at:"products: B in place for up to 40 tiles of rows of whole lines" on:"sapphire rapids"`
	LinesSets  int `unit:"sets" at:"products: B in place for up to 40 tiles of rows of whole lines" on:"zen4, sapphire rapids"`
	LinesWays  int `unit:"lines of a set" at:"products: B in place for up to 40 tiles of rows of whole lines" on:"zen4, sapphire rapids"`
	// If a B in place has Spread elements or more, many tiles fetch it instead of the last one.
	Spread int `unit:"elements of B" at:"products: next panel of a B in place of 2 MiB and more fetched by all tiles" on:"sapphire rapids"`
	// For up to WideNum/WideDen of a tile's rows, wide tiles read B in place: 8 rows of AVX-512's
	// 14 are two wide tiles of four, and 3 of AVX2's 6 are one.
	WideNum int `unit:"numerator" at:"products: tiles of seven rows and four vectors" on:"zen4"`
	WideDen int `unit:"denominator" at:"products: tiles of seven rows and four vectors" on:"zen4"`
	// For up to StreamNum/StreamDen of a tile's rows, which are 5 on AVX-512 and 2 on AVX2, a
	// packed B is read as fast as memory delivers one stream, and is not fetched ahead.
	StreamNum int `unit:"numerator" at:"products: StreamNum" on:"zen4"`
	StreamDen int `unit:"denominator" at:"products: StreamNum" on:"zen4"`
	// For up to HalvesTiles tiles of rows of A, the multiply-adds widen a packed B of 16 bits. For
	// more tiles it is widened before.
	HalvesTiles int `unit:"tiles of rows" at:"products: HalvesTiles" on:"zen4"`
	// Int8Rows rows of A are converted to integers at a time, and Int8Panel bytes of a panel of
	// int8 stay in the first-level cache while they are multiplied by the rows.
	Int8Rows  int `unit:"rows of A" at:"products: Int8Rows" on:"zen4"`
	Int8Panel int `unit:"bytes" at:"products: Int8Rows" on:"zen4"`
	// For WinogradRows rows or more, a panel of int8 is converted to words for Winograd's inner
	// product, WinogradPanel bytes at a time.
	WinogradRows  int `unit:"rows of A" at:"int8: use Winograd's form only from 36 rows on" on:"zen4, zen3"`
	WinogradPanel int `unit:"bytes" at:"int8: Winograd's inner product: half as many VPMADDWD" on:"zen4"`
	// For TileRows rows or more, int8 is multiplied by tiles, if the machine has them. A call
	// multiplies TileColumns columns, so that configuring the tiles costs little, and their sums
	// stay in the second-level cache until they become floats.
	TileRows    int `unit:"rows of A" at:"int8: tiles from eight rows on, with 256 columns in a call" on:"sapphire rapids"`
	TileColumns int `unit:"columns of B" at:"int8: tiles from eight rows on, with 256 columns in a call" on:"sapphire rapids"`
	// For BlockTileRows rows or more, weights in blocks are multiplied by tiles, if the machine has
	// them.
	BlockTileRows int `unit:"rows of A" at:"int8: Weights in blocks by tiles" on:"sapphire rapids"`
	// A packed B that is multiplied by one row is fetched Ahead bytes before its use. Ahead is 0 if
	// the machine does this by itself.
	Ahead int `unit:"bytes" at:"products: fetch B 4 KiB ahead into the second-level cache" on:"sapphire rapids, zen3"`
	// AheadBlocks does the same for weights in blocks, with any number of rows. The first tile of
	// rows fetches.
	AheadBlocks int `unit:"bytes" at:"products: Weights in blocks fetched 8 KiB ahead on Zen 5" on:"sapphire rapids, zen3, zen5"`
	// AheadBytes does the same for weights of 8 bits and up to a tile of rows, which reads as fast
	// as memory delivers.
	AheadBytes int `unit:"bytes" at:"products: weights of 8 bits fetched 8 KiB ahead" on:"zen4"`
	// For NextRows rows or more, the first tile that multiplies a piece of a panel of integers
	// fetches the next piece, if both fit in the first-level cache. 0 means never.
	NextRows int `unit:"rows of A" at:"products: the next piece of a panel of integers fetched by the first tile" on:"zen4"`
	// A product of one row with a B in place reads several rows of B together, RowColumns columns
	// at a time. With 1024 columns, C occupies one line in each set of a first-level cache of 64
	// sets. If B comes from memory, the product also prefetches: the next rows or, with RowAhead,
	// elements at this distance in the current rows. RowAhead is for hardware that prefetches each
	// row separately.
	RowColumns int `unit:"columns of B" at:"products: 1024 columns of C at a time instead of 4096" on:"zen4, zen3"`
	RowAhead   int `unit:"elements" at:"products: One row with B in place, from memory" on:"zen3"`
	// For CopyColumns columns or more, A's rows are worth copying.
	CopyColumns int `unit:"columns of B" at:"products: and where lda is nearly one" on:"zen4"`
}

// Rows is for functions that work row by row or element by element, in elements.
type Rows struct {
	// A result of StreamElements elements or more is written past the caches. Much of it would be
	// gone from a shared cache before its next use, and a line must be read before a part of it is
	// written to the cache.
	StreamElements int `unit:"elements" at:"rows: exponentials in a row of their own, results past the caches" on:"zen4"`
	// A part of a parallel call has about PartElements elements: some microseconds of work, several
	// times the cost of handing it out. A call with fewer than two parts is serial.
	PartElements int `unit:"elements" at:"rows: some 2^14 elements" on:"zen4"`
	// A part of a softmax has CutPart elements of a long row, because softmax takes longer than
	// most functions. If there are fewer rows than threads, rows of CutElements elements or more
	// are cut. Such a row is handed out once for each pass: with 24576 elements two threads gain
	// only an eighth.
	CutPart     int `unit:"elements" at:"rows: from 28672 elements on" on:"zen4"`
	CutElements int `unit:"elements" at:"rows: from 28672 elements on" on:"zen4"`
}

// Threads is for cutting products, in multiply-adds at full speed.
type Threads struct {
	// WakeWork is the least work that is worth waking a second thread.
	WakeWork int `unit:"multiply-adds" at:"products: 2^20 multiply-adds on (some 20 µs)" on:"zen4"`
	// ReadyWork is the least work that is worth a second thread that is awake.
	ReadyWork int `unit:"multiply-adds" at:"products: from 2^18 if a worker is awake" on:"zen4"`
	// PartWork is the least work of a part.
	PartWork int `unit:"multiply-adds" at:"products: parts of some 3 µs" on:"zen4"`
	// A product is cut into at most Bands bands for each thread.
	Bands int `unit:"bands of a thread" at:"products: bands, parts, mc of other sizes" on:"zen4"`
}

// Used holds the figures for this machine.
var Used = func() Record {
	family, model := simd.FamilyModel()
	return recordOf(simd.Vendor(), family, model, simd.Caches())
}()

// families are the CPUs with figures of their own, identified by CPUID or by the system.
var families = []struct {
	vendor string
	family int
	models []modelRange
	tuning Record
}{
	{"AuthenticAMD", 0x19, []modelRange{{0x00, 0x0f}, {0x20, 0x2f}}, Zen3},
	{"AuthenticAMD", 0x19, []modelRange{{0x10, 0x1f}, {0x60, 0x7f}, {0xa0, 0xaf}}, Zen4},
	{"AuthenticAMD", 0x1a, []modelRange{{0x00, 0x7f}}, zen5},
	{"GenuineIntel", 0x06, []modelRange{{0x8f, 0x8f}, {0xcf, 0xcf}}, SapphireRapids},
	{"ARM", 0, []modelRange{{0xd0c, 0xd0c}}, neoverseN1},
	{"ARM", 0, []modelRange{{0xd40, 0xd40}}, neoverseV1},
	{"ARM", 0, []modelRange{{0xd4f, 0xd4f}}, neoverseV2},
	{"Apple", 0, []modelRange{{0, 0xfff}}, appleM1},
}

type modelRange struct{ first, last int }

// recordOf returns the record of a family. For a CPU without a record, it returns the figures of
// zen4, with those that follow from the sizes of the caches, in bytes by level, derived anew.
func recordOf(vendor string, family, model int, caches [4]int) Record {
	for _, f := range families {
		if f.vendor == vendor && f.family == family &&
			slices.ContainsFunc(f.models, func(r modelRange) bool { return r.first <= model && model <= r.last }) {
			return f.tuning
		}
	}
	return Derived(caches)
}

// Derived uses caches of other sizes in the same way as zen4 uses its own. A level of unknown size
// counts as one of zen4's.
func Derived(caches [4]int) Record {
	t := Zen4
	t.name = "derived from cache sizes"
	if l1 := caches[1]; l1 > 0 {
		t.Ways = max(l1/(line*t.Sets), 1)
		t.Gemm.InPlacePanel = l1 / 2 / element
	}
	if l2 := caches[2]; l2 > 0 {
		// MC is 35/64 of the second-level cache, and never more than zen4's: mc also bounds the
		// time of a call.
		t.Gemm.MC = min(max(l2/element/order.Stretch*35/64, 28), Zen4.Gemm.MC)
		t.Gemm.NearElements = l2 / element
		t.Gemm.LinesSets = l2 / line / (2 * t.Gemm.LinesWays) // as if it had zen4's ways
	}
	if l3 := caches[3]; l3 > 0 {
		t.Rows.StreamElements = min(max(l3/2/element, 1<<20), 1<<24)
		t.Gemm.NC = min(max(l3/8/element/order.Stretch/64*64, 256), Zen4.Gemm.NC)
	}
	return t
}

// Zen4 was measured on 2 cores of an AMD EPYC of this family (L1 32 KiB, L2 1 MiB, L3 32 MiB). Each
// figure was varied around its value at the sizes at which it has an effect, with bench/cmd/compare
// for single cases and bench/cmd/sweep for all.
var Zen4 = Record{
	name: "zen4",
	Ways: 8, Sets: 64,
	Gemm: Gemm{
		MC: 140, NC: 1024, PackRows: 32,
		InPlaceTiles: 3, InPlacePanel: 1 << 12, InPlaceSpan: 1 << 15, LinesSets: 2048, LinesWays: 4, Spread: math.MaxInt,
		NearElements: 1 << 18, NearTiles: 20,
		WideNum: 4, WideDen: 7, StreamNum: 2, StreamDen: 5, HalvesTiles: 2,
		Int8Rows: 132, Int8Panel: 24 << 10, WinogradRows: 16, WinogradPanel: 24 << 10, TileRows: 8, BlockTileRows: 12, TileColumns: 256, NextRows: 12, AheadBytes: 8 << 10,
		RowColumns: 1024, CopyColumns: 64,
	},
	Rows: Rows{
		StreamElements: 1 << 22, PartElements: 1 << 14,
		CutPart: 1 << 13, CutElements: 7 << 12,
	},
	Threads: Threads{WakeWork: 1 << 20, ReadyWork: 1 << 18, PartWork: 1 << 17, Bands: 4},
}

// Zen3 has the figures that follow from the sizes of the caches of an EPYC of this family, except
// for those that were measured on 2 cores of one.
var Zen3 = func() Record {
	t := Derived([4]int{1: 32 << 10, 2: 512 << 10, 3: 32 << 20})
	t.name = "zen3"
	t.Gemm.WinogradRows = 36
	t.Gemm.Ahead, t.Gemm.AheadBlocks = 8<<10, 8<<10
	t.Gemm.RowColumns, t.Gemm.RowAhead = 4096, 16
	return t
}()

// zen5 has the figures that follow from the sizes of the caches of an EPYC of this family (L1 48
// KiB, L2 1 MiB, L3 32 MiB), except for those that were measured on 2 cores of one. Its products of
// float32 reach the peak with these figures.
var zen5 = func() Record {
	t := Derived([4]int{1: 48 << 10, 2: 1 << 20, 3: 32 << 20})
	t.name = "zen5"
	t.Gemm.AheadBlocks = 8 << 10
	return t
}()

// SapphireRapids was measured on 2 cores of an Intel Xeon of model 0xcf, Emerald Rapids (L1 48 KiB,
// L2 2 MiB), on products of 8 to 1024 rows. It has zen4's figures except for the sizes of the
// caches and for LinesTiles: a packed panel is read no faster than B in place, so packing is seldom
// worth it. Twice zen4's mc, half its nc, and half and twice its PackRows make no difference; half
// its mc costs 5%. Products of few rows fetch B ahead: the instructions that widen and multiply B
// wait in the scheduler, which is full before the largest possible number of lines is being loaded.
var SapphireRapids = func() Record {
	t := Derived([4]int{1: 48 << 10, 2: 2 << 20, 3: 260 << 20})
	t.name = "sapphire rapids"
	t.Gemm.Spread, t.Gemm.NearTiles = 1<<19, 0
	t.Gemm.LinesTiles, t.Gemm.LinesSets, t.Gemm.LinesWays = 40, 2048, 8
	t.Gemm.Ahead, t.Gemm.AheadBlocks = 4<<10, 4<<10
	return t
}()

// The figures below are computed from sizes that the makers publish, and not measured: these CPUs
// have never been timed. Sources: the Technical Reference Manuals of Arm, with the larger
// second-level cache if there is a choice, the third-level caches of AWS's Graviton 2, 3 and 4, and
// Apple's hw.perflevel0, which sysctl reports on an M1.
var (
	neoverseN1 = computed("neoverse n1", 4, 256, 8, [4]int{1: 64 << 10, 2: 1 << 20, 3: 32 << 20})
	neoverseV1 = computed("neoverse v1", 4, 256, 8, [4]int{1: 64 << 10, 2: 1 << 20, 3: 32 << 20})
	neoverseV2 = computed("neoverse v2", 4, 256, 8, [4]int{1: 64 << 10, 2: 2 << 20, 3: 36 << 20})
	// 128 sets of lines of 128 bytes repeat at the same distance as 256 sets of lines of 64 bytes.
	// Four cores share the second-level cache, and there is no third-level cache.
	appleM1 = computed("apple m1", 8, 256, 12, [4]int{1: 128 << 10, 2: 12 << 20 / 4, 3: 12 << 20})
)

// computed returns the record of a CPU. Its first-level cache has the given ways and sets, and its
// second-level cache has ways2 ways.
func computed(name string, ways, sets, ways2 int, caches [4]int) Record {
	t := Derived(caches)
	t.name, t.computed = name, true
	t.Ways, t.Sets = ways, sets
	t.Gemm.LinesWays = ways2 / 2
	t.Gemm.LinesSets = caches[2] / line / ways2
	return t
}
