//go:build purego || !linux || !amd64

package simd

// asksForTiles says that the system is known here to permit tiles. Windows does, by EnableProcessOptionalXStateFeatures,
// which nobody has tried with Go.
const asksForTiles = false

func askForTiles() bool { return false }
