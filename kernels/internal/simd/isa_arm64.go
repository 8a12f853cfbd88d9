//go:build arm64 && !purego

package simd

import "golang.org/x/sys/cpu"

// machineISAs lists the vector tiers of this machine: Advanced SIMD is part of every arm64 that Go
// supports.
func machineISAs() []ISA { return []ISA{NEON} }

// machineFeatures returns the features of this machine that the system reports.
func machineFeatures() (f Features) {
	a := &cpu.ARM64
	if a.HasASIMDDP {
		f |= DotProd
	}
	if hasI8MM() {
		f |= I8MM
	}
	return f
}

// preferred returns the tier to run on by default.
func preferred(supported []ISA) ISA { return supported[len(supported)-1] }
