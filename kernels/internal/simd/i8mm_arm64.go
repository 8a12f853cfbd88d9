//go:build !windows && !purego

package simd

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// hasI8MM reports whether products of int8 matrices are worth having. Apple's processors have them,
// but multiply no faster by them than by dot products (reported of M2 and M3).
func hasI8MM() bool { return cpu.ARM64.HasI8MM && runtime.GOOS != "darwin" }
