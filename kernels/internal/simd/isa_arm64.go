//go:build arm64 && !purego

package simd

// machineISAs lists the vector tiers of this machine: Advanced SIMD is part of
// every arm64 that Go runs on.
func machineISAs() []ISA { return []ISA{NEON} }

// preferred is the tier to run on by default.
func preferred(supported []ISA) ISA { return supported[len(supported)-1] }
