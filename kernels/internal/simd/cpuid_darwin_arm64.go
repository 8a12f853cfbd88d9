//go:build !purego

package simd

import "syscall"

// Vendor returns the processor's maker.
func Vendor() string { return "Apple" }

// FamilyModel returns 0: one record is for all processors.
func FamilyModel() (family, model int) { return 0, 0 }

// Caches returns the size in bytes of the data cache of each level that a fast core can use, as
// sysctl reports them. A level that is not reported is 0.
func Caches() (sizes [4]int) {
	for level, name := range map[int]string{1: "hw.perflevel0.l1dcachesize", 2: "hw.perflevel0.l2cachesize"} {
		if size, err := syscall.SysctlUint32(name); err == nil {
			sizes[level] = int(size)
		}
	}
	return sizes
}
