//go:build purego || !linux || !amd64

package simd

// askForTiles does not ask. Windows would permit tiles by EnableProcessOptionalXStateFeatures, but
// its context of an exception, such as a nil dereference, takes 8 KiB more with them. It goes to
// the stack of the goroutine, where Go's runtime reserves only 4 KiB (stackSystem), so that it may
// overwrite the heap below. Linux has a signal stack.
func askForTiles() bool { return false }
