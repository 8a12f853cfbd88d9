//go:build arm64 && !purego

package simd

import "golang.org/x/sys/cpu"

// machineISAs lists the vector tiers of this machine: Advanced SIMD is part of every arm64 that Go
// runs on.
func machineISAs() []ISA { return []ISA{NEON} }

// machineFeatures are those of this machine, as far as the system tells.
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
