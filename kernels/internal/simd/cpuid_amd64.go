//go:build amd64 && !purego

package simd

import "encoding/binary"

// cpuid executes CPUID. x/sys/cpu has the features; this file reads the vendor, the model and the
// caches, which it lacks.
func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// xgetbv returns XCR0, which says which parts of the processor's state the system saves. If HasAVX2
// is true, the processor has the instruction.
func xgetbv() uint64

// Vendor returns the processor's maker, such as "GenuineIntel" or "AuthenticAMD".
func Vendor() string {
	_, b, c, d := cpuid(0, 0)
	var s [12]byte
	binary.LittleEndian.PutUint32(s[0:], b)
	binary.LittleEndian.PutUint32(s[4:], d)
	binary.LittleEndian.PutUint32(s[8:], c)
	return string(s[:])
}

// FamilyModel returns the processor's display family and model (Intel SDM volume 2A and AMD APM
// volume 3, CPUID leaf 1).
func FamilyModel() (family, model int) {
	a, _, _, _ := cpuid(1, 0)
	family, model = int(a>>8&0xf), int(a>>4&0xf)
	if family == 6 || family == 15 {
		model += int(a>>16&0xf) << 4
	}
	if family == 15 {
		family += int(a >> 20 & 0xff)
	}
	return family, model
}

// Caches returns the size in bytes of the data or unified cache of each level that a core can use,
// from CPUID's deterministic cache parameters: leaf 4 on Intel, 0x8000001D on AMD. A level that is
// not reported is 0.
func Caches() (sizes [4]int) {
	leaf, first := uint32(4), uint32(0)
	if Vendor() == "AuthenticAMD" {
		leaf, first = 0x8000001d, 0x80000000
	}
	if top, _, _, _ := cpuid(first, 0); top < leaf {
		return sizes
	}
	for i := range uint32(8) {
		a, b, c, _ := cpuid(leaf, i)
		kind, level := a&0x1f, int(a>>5&7)
		if kind == 0 {
			break
		}
		if kind == 2 || level >= len(sizes) { // a cache only for instructions
			continue
		}
		ways, partitions, line, sets := int(b>>22)+1, int(b>>12&0x3ff)+1, int(b&0xfff)+1, int(c)+1
		sizes[level] = ways * partitions * line * sets
	}
	return sizes
}
