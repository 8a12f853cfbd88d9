//go:build !purego

package simd

import "os"

// Vendor, FamilyModel and Caches return the properties of the first CPU in Linux's /sys.

var linuxVendor, linuxPart = MIDR(os.DirFS("/sys/devices/system/cpu/cpu0"))

// Vendor returns the processor's maker: "ARM", or "Apple".
func Vendor() string { return linuxVendor }

// FamilyModel returns 0 and the processor's part number.
func FamilyModel() (family, model int) { return 0, linuxPart }

// Caches returns the size in bytes of the data or unified cache of each level that one core can
// use. A level that is not reported is 0.
func Caches() (sizes [4]int) { return SystemCaches(os.DirFS("/sys/devices/system/cpu/cpu0")) }
