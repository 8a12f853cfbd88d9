//go:build race && !purego && (amd64 || arm64)

package simd

import (
	"runtime"
	"unsafe"
)

// The dispatching functions report to the race detector the memory that the
// assembly reads and writes, which it cannot see.

func raceRead(x []float32) { raceReadRows(x, 1, len(x), 0) }

func raceWrite(x []float32) { raceWriteRows(x, 1, len(x), 0) }

func raceReadRows(x []float32, rows, cols, ld int) {
	raceRows(runtime.RaceReadRange, x, rows, cols, ld)
}

func raceWriteRows(x []float32, rows, cols, ld int) {
	raceRows(runtime.RaceWriteRange, x, rows, cols, ld)
}

func raceRows(report func(addr unsafe.Pointer, n int), x []float32, rows, cols, ld int) {
	if cols == 0 {
		return
	}
	for r := range rows {
		row := x[r*ld:][:cols]
		report(unsafe.Pointer(unsafe.SliceData(row)), cols*4)
	}
}
