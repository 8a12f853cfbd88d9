//go:build race && !purego && (amd64 || arm64)

package simd

import (
	"runtime"
	"unsafe"
)

// The dispatching functions report the memory that the assembly reads and writes to the race
// detector, which cannot observe assembly.

func raceRead[T any](x []T) { raceReadRows(x, 1, len(x), 0) }

func raceWrite[T any](x []T) { raceWriteRows(x, 1, len(x), 0) }

func raceReadRows[T any](x []T, rows, cols, ld int) {
	raceRows(runtime.RaceReadRange, x, rows, cols, ld)
}

func raceWriteRows[T any](x []T, rows, cols, ld int) {
	raceRows(runtime.RaceWriteRange, x, rows, cols, ld)
}

func raceRows[T any](report func(addr unsafe.Pointer, n int), x []T, rows, cols, ld int) {
	if cols == 0 {
		return
	}
	for r := range rows {
		row := x[r*ld:][:cols]
		report(unsafe.Pointer(unsafe.SliceData(row)), cols*int(unsafe.Sizeof(row[0])))
	}
}
