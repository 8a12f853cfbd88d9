//go:build purego || (!amd64 && !(arm64 && (linux || darwin)))

package simd

// Vendor returns "": neither the processor nor the system reports it.
func Vendor() string { return "" }

// FamilyModel returns 0: neither the processor nor the system reports it.
func FamilyModel() (family, model int) { return 0, 0 }

// Caches returns zeros: neither the processor nor the system reports the sizes.
func Caches() (sizes [4]int) { return sizes }
