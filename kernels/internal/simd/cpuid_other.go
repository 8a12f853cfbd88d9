//go:build purego || (!amd64 && !(arm64 && (linux || darwin)))

package simd

// Vendor returns the processor's maker, where the processor or the system says it.
func Vendor() string { return "" }

// FamilyModel returns the processor's family and model, where the processor or the system says it.
func FamilyModel() (family, model int) { return 0, 0 }

// Caches returns the size in bytes of the data or unified cache of each level that one core sees. A
// level that is not reported is 0.
func Caches() (sizes [4]int) { return sizes }
