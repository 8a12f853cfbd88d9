package kernels

// What is measured, and may differ from one CPU to another: sizes of blocks, and where
// one way to the same result overtakes another. Nothing here changes a result: what
// decides in what order numbers are summed up stands with the code that sums, and is the
// same on every machine (see gemmOrder).

// tuning is the figures for one family of CPUs.
type tuning struct {
	name    string
	ways    int // of the first-level data cache, of 64 sets of 64 bytes each
	gemm    gemmTuning
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
	// Up to wideNum/wideDen of a tile's rows, B in place is read by wide tiles: 8 rows of
	// AVX-512's 14 are two wide tiles of four, and 3 of AVX2's 6 are one.
	wideNum, wideDen int
	// Up to streamNum/streamDen of a tile's rows, 5 of AVX-512's and 2 of AVX2's, a
	// packed B is read as fast as memory delivers one stream, and not fetched ahead.
	streamNum, streamDen int
	// copyColumns columns are worth a copy of A's rows.
	copyColumns int
	// A B of farElements comes from memory. Fetching it ahead gains a sixth to a third
	// for one row; a smaller one loses as much.
	farElements int
}

// threadTuning is for cutting work, in multiply-adds at full speed.
type threadTuning struct {
	wakeWork  int // the least that is worth waking a second thread
	readyWork int // the least that is worth a second thread that is awake
	partWork  int // the least for a part
	bands     int // a product is cut into at most this many bands for each thread
}

// tuned is the figures for this machine.
var tuned = zen4

// zen4 was measured on an AMD EPYC of this family with 2 cores (L1 32 KiB, L2 1 MiB,
// L3 32 MiB), with bench/cmd/sweep and bench/cmd/report.
var zen4 = tuning{
	name: "zen4",
	ways: 8,
	gemm: gemmTuning{
		mc: 140, nc: 1024, packRows: 32,
		inPlaceTiles: 3, inPlacePanel: 1 << 12, inPlaceSpan: 1 << 15,
		wideNum: 4, wideDen: 7, streamNum: 2, streamDen: 5,
		copyColumns: 64, farElements: 1 << 23,
	},
	threads: threadTuning{wakeWork: 1 << 20, readyWork: 1 << 18, partWork: 1 << 17, bands: 4},
}
