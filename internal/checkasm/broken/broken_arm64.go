//go:build !purego

package broken

// Platform changes R18.
//
//go:noescape
func Platform(dst, x []float32)

// Temporary keeps a value in R27.
//
//go:noescape
func Temporary(dst, x []float32)

// Goroutine changes R28.
//
//go:noescape
func Goroutine(dst, x []float32)
