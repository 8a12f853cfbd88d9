package simd

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// This file has the properties of a processor that only the system can read. The functions are
// here, and not with the one system that they are for, so that tests run everywhere.

// MIDR returns the maker and the part number from the main identification register of arm64, which
// Linux has in a folder of a CPU in /sys. The maker is empty if there is no such register. Source:
// Arm Architecture Reference Manual, MIDR_EL1.
func MIDR(cpu fs.FS) (vendor string, part int) {
	text, err := fs.ReadFile(cpu, "regs/identification/midr_el1")
	if err != nil {
		return "", 0
	}
	midr, err := strconv.ParseUint(strings.TrimSpace(string(text)), 0, 64)
	if err != nil {
		return "", 0
	}
	return map[uint64]string{0x41: "ARM", 0x61: "Apple"}[midr>>24&0xff], int(midr >> 4 & 0xfff)
}

// SystemCaches returns the size in bytes of the data or unified cache of each level in a folder of
// a CPU in /sys.
func SystemCaches(cpu fs.FS) (sizes [4]int) {
	folders, _ := fs.Glob(cpu, "cache/index*")
	for _, folder := range folders {
		word := func(name string) string {
			text, _ := fs.ReadFile(cpu, path.Join(folder, name))
			return strings.TrimSpace(string(text))
		}
		level, err := strconv.Atoi(word("level"))
		if err != nil || level < 1 || level >= len(sizes) || word("type") == "Instruction" {
			continue
		}
		number, unit := word("size"), 1
		for suffix, bytes := range map[string]int{"K": 1 << 10, "M": 1 << 20} {
			if strings.HasSuffix(number, suffix) {
				number, unit = strings.TrimSuffix(number, suffix), bytes
			}
		}
		if size, err := strconv.Atoi(number); err == nil && 0 < size && size <= 1<<20 {
			sizes[level] = size * unit
		}
	}
	return sizes
}
