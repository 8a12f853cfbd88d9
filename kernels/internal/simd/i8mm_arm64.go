//go:build !windows && !purego

package simd

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// hasI8MM reports whether the kernels should use products of int8 matrices. Apple's processors have
// them, but are not faster with them than with dot products (reported of M2 and M3).
func hasI8MM() bool { return cpu.ARM64.HasI8MM && runtime.GOOS != "darwin" }
