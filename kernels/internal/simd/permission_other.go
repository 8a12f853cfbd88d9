//go:build purego || !linux || !amd64

package simd

// askForTiles does not ask. Windows could be asked by EnableProcessOptionalXStateFeatures, which nobody has tried with Go.
func askForTiles() bool { return false }
