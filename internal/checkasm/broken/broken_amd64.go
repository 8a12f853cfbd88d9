//go:build !purego

package broken

// Direction leaves the direction flag set.
//
//go:noescape
func Direction(dst, x []float32)

// NoVZEROUPPER leaves the upper half of Y0 dirty.
//
//go:noescape
func NoVZEROUPPER(dst, x []float32)
