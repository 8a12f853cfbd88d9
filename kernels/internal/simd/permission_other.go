//go:build purego || !linux || !amd64

package simd

// askForTiles does not ask. Windows permits tiles by EnableProcessOptionalXStateFeatures, and then the context that it writes for an
// exception, such as a nil dereference, has room for 8 KiB of tiles. It writes to the stack of the goroutine, where Go's runtime
// reserves only 4 KiB (stackSystem): it could overwrite the heap below. Linux has a signal stack, and no other system permits tiles.
func askForTiles() bool { return false }
