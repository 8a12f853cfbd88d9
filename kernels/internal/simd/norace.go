//go:build !race && !purego && (amd64 || arm64)

package simd

func raceRead[T any](x []T)                          {}
func raceWrite[T any](x []T)                         {}
func raceReadRows[T any](x []T, rows, cols, ld int)  {}
func raceWriteRows[T any](x []T, rows, cols, ld int) {}
