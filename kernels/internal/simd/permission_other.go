//go:build purego || !linux || !amd64

package simd

// askForTiles returns false without asking. Windows would permit tiles by
// EnableProcessOptionalXStateFeatures, but then its context of an exception, such as a nil
// dereference, is 8 KiB larger. It is written to the stack of the goroutine, where Go's runtime
// reserves only 4 KiB (stackSystem), so that it may overwrite the heap below. Linux has a signal
// stack.
func askForTiles() bool { return false }
