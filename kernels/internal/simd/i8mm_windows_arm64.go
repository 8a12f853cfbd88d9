//go:build !purego

package simd

import "golang.org/x/sys/windows"

// hasI8MM reports whether the machine has products of int8 matrices. Package cpu does not ask
// Windows.
func hasI8MM() bool {
	return windows.IsProcessorFeaturePresent(windows.PF_ARM_V82_I8MM_INSTRUCTIONS_AVAILABLE)
}
