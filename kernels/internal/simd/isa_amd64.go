//go:build amd64 && !purego

package simd

import (
	"runtime"
	"slices"

	"golang.org/x/sys/cpu"
)

// machineISAs lists the vector tiers of this machine, in ascending order.
//
// cpu.X86.HasAVX512 means only the foundation. HasFMA does not check that the operating system
// saves the registers, which HasAVX2 does.
func machineISAs() []ISA {
	var isas []ISA
	x := &cpu.X86
	if x.HasAVX2 && x.HasFMA {
		isas = append(isas, AVX2)
		if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasBMI2 {
			isas = append(isas, AVX512)
		}
	}
	return isas
}

// machineFeatures returns the features of this machine.
func machineFeatures() (f Features) {
	x := &cpu.X86
	for _, has := range []struct {
		yes     bool
		feature Features
	}{{x.HasAVX512VNNI, AVX512VNNI}, {x.HasAVXVNNI && x.HasAVX2, AVXVNNI}, {x.HasF16C && x.HasAVX, F16C}, {x.HasAVX512VPOPCNTDQ, AVX512VPOPCNTDQ},
		{x.HasAVX512BF16, AVX512BF16}, {x.HasAMXTile && x.HasAMXInt8 && x.HasAMXBF16 && x.HasAVX2 && savesTiles(), AMX}} {
		if has.yes {
			f |= has.feature
		}
	}
	return f
}

// savesTiles reports whether the system can save tiles for programs that ask for it, as askForTiles
// does on Linux. Package x/sys/cpu does not report it.
func savesTiles() bool {
	const config, data = 1 << 17, 1 << 18
	return runtime.GOOS == "linux" && xgetbv()&(config|data) == config|data
}

// preferred returns the tier to run on by default: the widest, with one exception.
//
// Intel's first AVX-512 servers (family 6, model 0x55: Skylake-SP, Cascade Lake, Cooper Lake) lower
// the clock of a core for some milliseconds after heavy 512-bit work. A Go program runs all its
// work on the same cores, so its other work would be slower. AVX2 is the default there, and
// AVOFORMER_ISA=avx512 is for programs that mostly multiply matrices. Later Intel servers hardly
// change their clock. Zen 4, which splits 512-bit operations in two, gains from the registers, the
// opmasks and the halved number of instructions.
func preferred(supported []ISA) ISA {
	if family, model := FamilyModel(); Vendor() == "GenuineIntel" && family == 6 && model == 0x55 &&
		slices.Contains(supported, AVX2) {
		return AVX2
	}
	return supported[len(supported)-1]
}
